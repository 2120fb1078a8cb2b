"""`GET /decisions/stream`: recorded decisions as server-sent events, as they come."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import anyio
import msgspec
from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid
from baton.kernel.http.event_streams import EventStream
from baton.kernel.http.features import of
from baton.kernel.http.lifecycle import Lifecycle
from baton.people.callers import CallerOf, CallerReaderOf
from baton.people.stream_callers import caller_of_stream
from baton.records.review.decision_stream import DecisionStreams, StreamBatch
from baton.records.review.decisions import DecisionFilter
from baton.records.review.decisions_api import LiveFilters
from baton.records.review.feed import Place, moment, place_text

router = APIRouter(tags=["decisions"])
LifecycleOf = Annotated[Lifecycle, Depends(of(Lifecycle))]
StreamsOf = Annotated[DecisionStreams, Depends(of(DecisionStreams))]
RETRY_MS = 1_000
"""After what time a browser connects again, in milliseconds."""
MARGIN = timedelta(minutes=1)
"""How far before a gap its `from` lies: a decision is made some time before it is stored."""
_PLACE = re.compile(r"([0-9]{1,15})-([0-9]{1,15})", re.ASCII)
_EVENT = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string", "enum": ["decisions", "outcomes", "gap"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
"""The schema of one event, for OpenAPI 3.2's `itemSchema`, which readers of 3.1 ignore."""
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": (
            "Events `decisions`, whose data is an object with `items` as `GET /decisions` shows them, oldest first;"
            " `outcomes`, whose `items` say what became of a call, by its `session_id` and `tool_use_id` (one may come before"
            " its decision, or twice, and where events are off none comes); and"
            " `gap`, with the moments `from` and `to` between which decisions may be missing: fetch them with `since`"
            " and `until`, some of them may be known already."
        ),
        "content": {
            "text/event-stream": {
                "itemSchema": _EVENT,
                "example": 'id: 1770000000000-0\nevent: decisions\ndata: {"items":[{"id":"0198f3…","decision":"allow"}]}\n\n',
            }
        },
    }
}


class StreamQuery(LiveFilters):
    """Which decisions are told, and from where on."""

    cursor: str = Field("", max_length=40, description="The id of the last event that was read, as `Last-Event-ID`.")


@router.get("/decisions/stream", operation_id="stream_decisions", response_class=EventSourceResponse, responses=_ANSWER)
async def stream_decisions(
    request: Request,
    caller: CallerOf,
    streams: StreamsOf,
    callers: CallerReaderOf,
    lifecycle: LifecycleOf,
    query: Annotated[StreamQuery, Query()],
    last_event_id: Annotated[
        str, Header(alias="Last-Event-ID", max_length=40, description="The id of the last event that was read.")
    ] = "",
) -> EventSourceResponse:
    """Stream decisions as they are stored, from now on or after `Last-Event-ID`; all filters given must hold.

    Of outcomes, only `session_id`, `user` and `tool` are asked.
    """
    # A browser that connects again sends the header beside the cursor that it began with.
    after = place_of("Last-Event-ID", last_event_id) or place_of("cursor", query.cursor)
    streams.admit(caller.principal)
    stopping = anyio.Event()
    now = caller_of_stream(request, callers, lifecycle, stopping)

    def reader() -> Principal | None:
        found = now()
        return None if found is None else found.principal

    sent = SentPlace()
    wanted = DecisionFilter(**query.model_dump(exclude={"cursor"}))
    batches = streams.follow(caller.principal, wanted, after, reader)
    return EventStream(_events(batches, sent), stopping, sent.ping)


class SentPlace:
    """The place up to which everything was sent: a ping tells it, so that a reader without events keeps up."""

    def __init__(self) -> None:
        self.place: Place | None = None

    def ping(self) -> ServerSentEvent:
        """Return what a silent stream sends."""
        known = None if self.place is None else place_text(self.place)
        return ServerSentEvent(comment="ping", id=known, sep="\n")


async def _events(batches: AsyncIterator[StreamBatch], sent: SentPlace) -> AsyncIterator[ServerSentEvent]:
    async for batch in batches:
        name = place_text(batch.place)
        if sent.place is None:
            yield ServerSentEvent(comment="connected", id=name, retry=RETRY_MS, sep="\n")
        if batch.lost:
            # The place before the decisions that come with it: whoever stops here gets them again.
            until = datetime.now(UTC) if not batch.decisions else moment(batch.place)
            gap = msgspec.json.encode({"from": moment(batch.before) - MARGIN, "to": until}).decode()
            yield ServerSentEvent(data=gap, event="gap", id=place_text(batch.before), sep="\n")
        if batch.outcomes:
            # With the place before the decisions that follow: whoever stops here gets these outcomes again.
            here = place_text(batch.before) if batch.decisions else name
            ended = b'{"items":[' + b",".join(batch.outcomes) + b"]}"
            yield ServerSentEvent(data=ended.decode(), event="outcomes", id=here, sep="\n")
        if batch.decisions:
            items = b'{"items":[' + b",".join(batch.decisions) + b"]}"
            yield ServerSentEvent(data=items.decode(), event="decisions", id=name, sep="\n")
        # Set once the reader has accepted all of it.
        sent.place = batch.place


def place_of(field: str, text: str) -> Place | None:
    """Read the place that a request goes on behind, None for none.

    Raises:
        Invalid: If it is no place; `field` is what the error names.
    """
    if not text:
        return None
    found = _PLACE.fullmatch(text)
    if found is None:
        raise Invalid(field, f"is `{text}`; pass the id of an event of this stream")
    return int(found[1]), int(found[2])
