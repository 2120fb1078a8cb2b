"""`GET /stream`: everything that a person follows live, as server-sent events."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

import anyio
import msgspec
from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid
from baton.kernel.http.event_streams import EventStream
from baton.kernel.http.features import of
from baton.kernel.http.lifecycle import Lifecycle
from baton.operate.live.events import LIVE_TOPICS, LiveTopic
from baton.operate.live.service import LiveBatch, LiveStream
from baton.people.callers import CallerOf, CallerReaderOf
from baton.people.stream_callers import caller_of_stream
from baton.records.review.feed import moment, place_text
from baton.records.review.stream_api import MARGIN, RETRY_MS, SentPlace, place_of

router = APIRouter(tags=["stream"])
LifecycleOf = Annotated[Lifecycle, Depends(of(Lifecycle))]
LiveStreamOf = Annotated[LiveStream, Depends(of(LiveStream))]
_NAMES = [
    "decisions", "question.opened", "question.answered", "question.expired", "job.state", "session.update", "mode.changed",
    "gap",
]  # fmt: skip
_EVENT = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string", "enum": _NAMES},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
"""The schema of one event, for OpenAPI 3.2's `itemSchema`, which readers of 3.1 ignore."""
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": (
            "Events, each with a JSON object as its data: `decisions` (`items` as `GET /decisions` shows them, oldest first),"
            " `question.opened`, `question.answered` and `question.expired` of delegated agents, `job.state`,"
            " `session.update` (its `state` is `started`, `waiting`, `idle` or `ended`), `mode.changed`; and `gap`, with the"
            " moments `from` and `to` between which events may be missing: read the lists again. All but `decisions` say"
            " what changed, and not what it holds: read that by its id. With `BATON_EVENTS=off` only decisions are told."
        ),
        "content": {
            "text/event-stream": {
                "itemSchema": _EVENT,
                "example": (
                    'id: 1770000000000-0\nevent: job.state\ndata: {"at":"2026-02-02T03:04:05.000+00:00","user":"ada",'
                    '"team":"web","job_id":"job_1","state":"running","session_id":"s"}\n\n'
                ),
            }
        },
    }
}


class LiveQuery(BaseModel):
    """What is followed, and from where on."""

    topics: str = Field(
        "",
        max_length=100,
        description=f"What to follow, separated by commas: {', '.join(f'`{one}`' for one in LIVE_TOPICS)}."
        " Without it, everything that you may read.",
    )
    cursor: str = Field("", max_length=40, description="The id of the last event that was read, as `Last-Event-ID`.")


@router.get("/stream", operation_id="stream_live", response_class=EventSourceResponse, responses=_ANSWER)
async def stream_live(
    request: Request,
    caller: CallerOf,
    streams: LiveStreamOf,
    callers: CallerReaderOf,
    lifecycle: LifecycleOf,
    query: Annotated[LiveQuery, Query()],
    last_event_id: Annotated[
        str, Header(alias="Last-Event-ID", max_length=40, description="The id of the last event that was read.")
    ] = "",
) -> EventSourceResponse:
    """Stream what happens, from now on or after `Last-Event-ID`; each reader is told what the lists would show them."""
    after = place_of("Last-Event-ID", last_event_id) or place_of("cursor", query.cursor)
    topics = streams.admit(caller.principal, _topics(query.topics))
    stopping = anyio.Event()
    now = caller_of_stream(request, callers, lifecycle, stopping)

    def reader() -> Principal | None:
        found = now()
        return None if found is None else found.principal

    sent = SentPlace()
    return EventStream(_lines(streams.follow(caller.principal, topics, after, reader), sent), stopping, sent.ping)


async def _lines(batches: AsyncIterator[LiveBatch], sent: SentPlace) -> AsyncIterator[ServerSentEvent]:
    async for batch in batches:
        if sent.place is None:
            yield ServerSentEvent(comment="connected", id=place_text(batch.place), retry=RETRY_MS, sep="\n")
        if batch.lost:
            # The place before what comes with it: whoever stops here gets that again.
            until = datetime.now(UTC) if not batch.events else moment(batch.place)
            gap = msgspec.json.encode({"from": moment(batch.before) - MARGIN, "to": until}).decode()
            yield ServerSentEvent(data=gap, event="gap", id=place_text(batch.before), sep="\n")
        for place, shown in batch.events:
            yield ServerSentEvent(data=shown.data.decode(), event=shown.name, id=place_text(place), sep="\n")
        # Set once the reader has accepted all of it.
        sent.place = batch.place


def _topics(text: str) -> list[LiveTopic]:
    named = [one.strip() for one in text.split(",") if one.strip()]
    found: list[LiveTopic] = [one for one in LIVE_TOPICS if one in named]
    for one in named:
        if one not in LIVE_TOPICS:
            raise Invalid("topics", f"names `{one}`", list(LIVE_TOPICS))
    return found
