"""`GET /decisions/stream`: recorded decisions as server-sent events, as they come."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sse_starlette import EventSourceResponse, ServerSentEvent

from baton.events.log import place_text
from baton.kernel.http.features import of
from baton.records.review.decision_stream import DecisionStreams, StreamBatch
from baton.records.review.decisions import DecisionFilter
from baton.records.review.decisions_api import LiveFilters
from baton.records.review.feed_api import CursorQuery, FeedRequest, event_answer

router = APIRouter(tags=["decisions"])
StreamsOf = Annotated[DecisionStreams, Depends(of(DecisionStreams))]
_ANSWER = event_answer(
    ["decisions", "outcomes", "gap"],
    "Events `decisions`, whose data is an object with `items` as `GET /decisions` shows them, oldest first;"
    " `outcomes`, whose `items` say what became of a call, by its `session_id` and `tool_use_id` (one may come before"
    " its decision, or twice); and"
    " `gap`, with the moments `from` and `to` between which decisions may be missing: fetch them with `since`"
    " and `until`, some of them may be known already.",
    'id: 1770000000000-0\nevent: decisions\ndata: {"items":[{"id":"0198f3…","decision":"allow"}]}\n\n',
)


class StreamQuery(LiveFilters, CursorQuery):
    """The decisions to stream, and the start."""


@router.get("/decisions/stream", response_class=EventSourceResponse, responses=_ANSWER)
async def stream_decisions(
    stream: Annotated[FeedRequest, Depends()], streams: StreamsOf, query: Annotated[StreamQuery, Query()]
) -> EventSourceResponse:
    """Stream decisions as they are stored, from now on or after `Last-Event-ID`; all filters given must hold.

    Of outcomes, only `session_id`, `user` and `tool` are asked.
    """
    after = stream.after(query.cursor)
    streams.admit(stream.principal)
    wanted = DecisionFilter(**query.model_dump(exclude={"cursor"}))
    return stream.answer(streams.follow(stream.principal, wanted, after, stream.reader), _shown)


def _shown(batch: StreamBatch) -> Iterator[ServerSentEvent]:
    name = place_text(batch.place)
    if batch.outcomes:
        # With the place before the next decisions: a reader stopping here gets these outcomes again.
        here = place_text(batch.before) if batch.decisions else name
        yield _items("outcomes", batch.outcomes, here)
    if batch.decisions:
        yield _items("decisions", batch.decisions, name)


def _items(event: str, items: list[bytes], place: str) -> ServerSentEvent:
    data = b'{"items":[' + b",".join(items) + b"]}"
    return ServerSentEvent(data=data.decode(), event=event, id=place, sep="\n")
