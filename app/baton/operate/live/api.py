"""`GET /stream`: everything that a person follows live, as server-sent events."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.operate.live.events import LIVE_TOPICS, LiveTopic
from baton.operate.live.service import LiveBatch, LiveStream
from baton.records.review.feed import place_text
from baton.records.review.feed_api import CursorQuery, FeedRequest, event_answer

router = APIRouter(tags=["stream"])
LiveStreamOf = Annotated[LiveStream, Depends(of(LiveStream))]
_ANSWER = event_answer(
    [
        "decisions", "question.opened", "question.answered", "question.expired", "job.state", "session.update",
        "mode.changed", "gap",
    ],
    "Events, each with a JSON object as its data: `decisions` (`items` as `GET /decisions` shows them, oldest first),"
    " `question.opened`, `question.answered` and `question.expired` of delegated agents, `job.state`,"
    " `session.update` (its `state` is `started`, `waiting`, `idle` or `ended`), `mode.changed`; and `gap`, with the"
    " moments `from` and `to` between which events may be missing: read the lists again. All but `decisions` say"
    " what changed, and not what it holds: read that by its id. With `BATON_EVENTS=off` only decisions are told.",
    'id: 1770000000000-0\nevent: job.state\ndata: {"at":"2026-02-02T03:04:05.000+00:00","user":"ada",'
    '"team":"web","job_id":"job_1","state":"running","session_id":"s"}\n\n',
)  # fmt: skip


class LiveQuery(CursorQuery):
    """What is followed, and from where on."""

    topics: str = Field(
        "",
        max_length=100,
        description=f"What to follow, separated by commas: {', '.join(f'`{one}`' for one in LIVE_TOPICS)}."
        " Without it, everything that you may read.",
    )


@router.get("/stream", operation_id="stream_live", response_class=EventSourceResponse, responses=_ANSWER)
async def stream_live(
    stream: Annotated[FeedRequest, Depends()], streams: LiveStreamOf, query: Annotated[LiveQuery, Query()]
) -> EventSourceResponse:
    """Stream what happens, from now on or after `Last-Event-ID`; each reader is told what the lists would show them."""
    after = stream.after(query.cursor)
    topics = streams.admit(stream.principal, _topics(query.topics))
    return stream.answer(streams.follow(stream.principal, topics, after, stream.reader), _shown)


def _shown(batch: LiveBatch) -> Iterator[ServerSentEvent]:
    for place, shown in batch.events:
        yield ServerSentEvent(data=shown.data.decode(), event=shown.name, id=place_text(place), sep="\n")


def _topics(text: str) -> list[LiveTopic]:
    named = [one.strip() for one in text.split(",") if one.strip()]
    found: list[LiveTopic] = [one for one in LIVE_TOPICS if one in named]
    for one in named:
        if one not in LIVE_TOPICS:
            raise Invalid("topics", f"names `{one}`", list(LIVE_TOPICS))
    return found
