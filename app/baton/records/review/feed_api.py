"""Shared code of the endpoints streaming the feed: the stream's reader, its place, and its format."""

from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol, TypeVar

import anyio
import msgspec
from fastapi import Depends, Header, Request
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from baton.events.feed import moment
from baton.events.log import Place, place_text
from baton.events.reading import parsed
from baton.kernel.http.event_streams import EventStream
from baton.kernel.http.features import Lifecycle, of
from baton.people.callers import CallerOf, CallerReaderOf, caller_of_stream
from baton.rules.call.call import Principal

LifecycleOf = Annotated[Lifecycle, Depends(of(Lifecycle))]
RETRY_MS = 1_000
"""After what time a browser connects again, in milliseconds."""
MARGIN = timedelta(minutes=1)
"""How far before a gap its `from` lies: a decision is made some time before it is stored."""


class Batch(Protocol):
    """One batch for a reader."""

    @property
    def place(self) -> Place:
        """The place behind all of it."""

    @property
    def before(self) -> Place:
        """The reader's place before the batch."""

    @property
    def lost(self) -> bool:
        """Whether something before it is missing."""

    @property
    def moves(self) -> bool:
        """Whether it contains entries of the feed at `place`."""


B = TypeVar("B", bound=Batch)


class CursorQuery(BaseModel):
    """The start of a stream."""

    cursor: str = Field("", max_length=40, description="The id of the last event read, as `Last-Event-ID`.")


class FeedRequest:
    """A request for a stream. The caller is read again while it is open: a token may be revoked."""

    def __init__(
        self,
        request: Request,
        caller: CallerOf,
        callers: CallerReaderOf,
        lifecycle: LifecycleOf,
        last_event_id: Annotated[
            str, Header(alias="Last-Event-ID", max_length=40, description="The id of the last event read.")
        ] = "",
    ) -> None:
        self.principal = caller.principal
        self._last_event_id = last_event_id
        self._stopping = anyio.Event()
        self._now = caller_of_stream(request, callers, lifecycle, self._stopping)

    def after(self, cursor: str) -> Place | None:
        """Return the place to continue after, None for now. Raises Invalid."""
        # A reconnecting browser sends the header besides its first cursor.
        given = self._last_event_id or cursor
        return parsed(given, "Last-Event-ID" if self._last_event_id else "cursor") if given else None

    def reader(self) -> Principal | None:
        """Return the stream's present reader, None once it has to end."""
        found = self._now()
        return None if found is None else found.principal

    def answer(self, batches: AsyncIterator[B], shown: Callable[[B], Iterable[ServerSentEvent]]) -> EventSourceResponse:
        """Return the stream of the results of `shown` for each batch."""
        sent = _SentPlace()
        return EventStream(_events(batches, shown, sent), self._stopping, sent.ping)


class _SentPlace:
    """The place up to which everything was sent, for pings, so that a reader without events keeps up."""

    def __init__(self) -> None:
        self.place: Place | None = None

    def ping(self) -> ServerSentEvent:
        """Return the ping of a silent stream."""
        known = None if self.place is None else place_text(self.place)
        return ServerSentEvent(comment="ping", id=known, sep="\n")


async def _events(
    batches: AsyncIterator[B], shown: Callable[[B], Iterable[ServerSentEvent]], sent: _SentPlace
) -> AsyncIterator[ServerSentEvent]:
    async for batch in batches:
        if sent.place is None:
            yield ServerSentEvent(comment="connected", id=place_text(batch.place), retry=RETRY_MS, sep="\n")
        if batch.lost:
            # The place before the batch: a reader stopping here gets the batch again.
            until = moment(batch.place) if batch.moves else datetime.now(UTC)
            gap = msgspec.json.encode({"from": moment(batch.before) - MARGIN, "to": until}).decode()
            yield ServerSentEvent(data=gap, event="gap", id=place_text(batch.before), sep="\n")
        for event in shown(batch):
            yield event
        # Set once the reader has accepted all of it.
        sent.place = batch.place


def event_answer(names: list[str], description: str, example: str) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of an endpoint streaming events of these names, each with JSON as its data."""
    # `itemSchema` is OpenAPI 3.2's; readers of 3.1 ignore it.
    event = {
        "type": "object",
        "required": ["id", "event", "data"],
        "properties": {
            "id": {"type": "string"},
            "event": {"type": "string", "enum": names},
            "data": {"type": "string", "contentMediaType": "application/json"},
        },
    }
    content = {"text/event-stream": {"itemSchema": event, "example": example}}
    return {200: {"description": description, "content": content}}
