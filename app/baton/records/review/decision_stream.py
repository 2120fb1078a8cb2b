"""Who follows the feed, and what of its decisions a reader wants and may see, from any place on."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.kernel.base.errors import Forbidden, RateLimited
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.people.row_scope import row_scope
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.store import Filters, matches
from baton.records.review.bodies import DecisionModel
from baton.records.review.feed import BATCH, FeedEntry, FeedPage, LiveEvent, LiveFeed, Place

LOOK_S = 1.0
"""How often a stream checks whether to go on, in seconds."""
OUTCOMES = "outcomes"
_OF_OUTCOME = {
    "session_id": "session_id", "agent_id": "agent_id", "tool_name": "tool", "tool_execution_id": "tool_use_id",
    "outcome": "outcome", "duration_ms": "duration_ms",
}  # fmt: skip
"""Fields of an outcome's event, and what a decision calls them."""
MOST_STREAMS = 200
MOST_OF_A_USER = 20
"""Streams that are open at a time in one process, and those of one user."""


class StreamBatch(msgspec.Struct, frozen=True):
    """What a reader is sent at a time: the JSON of decisions and of outcomes, and whether some before them are `lost`.

    `place` is the place behind them. `before` is the place where the reader was.
    """

    decisions: list[bytes]
    outcomes: list[bytes]
    place: Place
    before: Place
    lost: bool = False

    @property
    def moves(self) -> bool:
        """Whether something in it stands in the feed at `place`."""
        return bool(self.decisions)


class FeedReaders:
    """Those who follow the feed in this process: how many they are, and what comes next for each."""

    def __init__(self, redis: Redis, counters: Counters) -> None:
        self._feed = LiveFeed(redis)
        self._counters = counters
        self._open: dict[str, int] = {}

    def admit(self, principal: Principal) -> None:
        """Check that one more stream may be opened.

        Raises:
            RateLimited: If the process or the user has too many.
        """
        if self._open.get(principal.user, 0) >= MOST_OF_A_USER:
            raise RateLimited(f"{MOST_OF_A_USER} streams of yours are open; close one", retry_after_s=5)
        if sum(self._open.values()) >= MOST_STREAMS:
            raise RateLimited(f"{MOST_STREAMS} streams are open here; try again", retry_after_s=5)

    async def pages(
        self, principal: Principal, after: Place | None, now: Callable[[], Principal | None]
    ) -> AsyncGenerator[tuple[Principal, FeedPage], None]:
        """Yield what comes behind a place, None for what comes from now on, at most every 100 ms.

        Each page comes with its reader as of now. The first page is empty and only tells the place. It ends when `now`
        returns no principal.
        """
        with self._counted(principal.user):
            async with self._feed.follow() as woken:
                place = after
                while place is None:
                    if now() is None:
                        return
                    place = self._feed.newest
                    if place is None:
                        await _news(woken)
                yield principal, FeedPage([], place)
                while (reader := now()) is not None:
                    try:
                        page = await self._feed.after(place)
                    except RedisUnavailable:
                        await _news(woken)
                        continue
                    self._counters.stream_gaps += page.lost
                    yield reader, page
                    place = page.place
                    if len(page.entries) < BATCH:
                        await _news(woken)

    @contextmanager
    def _counted(self, user: str) -> Iterator[None]:
        self._open[user] = self._open.get(user, 0) + 1
        try:
            yield
        finally:
            self._open[user] -= 1
            if not self._open[user]:
                del self._open[user]


class DecisionStreams:
    """The decisions of the feed, for readers who want those that meet filters."""

    def __init__(self, readers: FeedReaders) -> None:
        self._readers = readers

    def admit(self, principal: Principal) -> None:
        """Check that one more stream may be opened.

        Raises:
            RateLimited: If the process or the user has too many.
            Forbidden: If the role may not read decisions.
        """
        row_scope(principal, "decisions.read")
        self._readers.admit(principal)

    async def follow(
        self, principal: Principal, wanted: Filters, after: Place | None, now: Callable[[], Principal | None]
    ) -> AsyncIterator[StreamBatch]:
        """Yield the decisions behind a place, None for those from now on, at most every 100 ms.

        The first batch is empty and only tells the place. The stream ends when `now` returns no principal, or one whose
        role may no longer read decisions.
        """
        before: Place | None = None
        async with aclosing(self._readers.pages(principal, after, now)) as pages:
            async for reader, page in pages:
                try:
                    fit = fitting(page.entries, reader, wanted)
                    ended = _outcomes(page.entries, reader, wanted)
                except Forbidden:  # the role was changed meanwhile
                    return
                # A page without a fit moves the place too, which the next ping tells.
                yield StreamBatch(fit, ended, page.place, before or page.place, page.lost)
                before = page.place


def fitting(entries: Iterable[FeedEntry], reader: Principal, wanted: Filters) -> list[bytes]:
    """Return the JSON of the decisions among entries that a reader wants and may see.

    Raises:
        Forbidden: If the role may not read decisions.
    """
    mine = msgspec.structs.replace(wanted, scope=row_scope(reader, "decisions.read"))
    return [
        _shown(entry, entry.record)
        for entry in entries
        if entry.record is not None and matches(entry.record, reader.organisation, mine)
    ]


def _outcomes(entries: Iterable[FeedEntry], reader: Principal, wanted: Filters) -> list[bytes]:
    """Return the JSON of the outcomes among entries that a reader may see, of the session, user and tool that they want.

    An outcome does not say what else its decision was, so other filters do not concern it.

    Raises:
        Forbidden: If the role may not read decisions.
    """
    scope = row_scope(reader, "decisions.read")
    return [
        _shown_outcome(entry, event)
        for entry in entries
        if (event := entry.event) is not None
        and event.topic == OUTCOMES
        and event.organisation == reader.organisation
        and scope.covers(event.user, event.team)
        and wanted.session_id in {"", event.data.get("session_id")}
        and wanted.user in {"", event.user}
        and wanted.tool in {"", event.data.get("tool_name")}
    ]


async def _news(woken: asyncio.Event) -> None:
    await pause(woken, LOOK_S)
    woken.clear()


def _shown(entry: FeedEntry, record: Record) -> bytes:
    if not entry.shown:
        entry.shown = DecisionModel.of(record).model_dump_json(exclude_none=True).encode()
    return entry.shown


def _shown_outcome(entry: FeedEntry, event: LiveEvent) -> bytes:
    if not entry.shown:
        known = {
            name: value for field, name in _OF_OUTCOME.items() if (value := event.data.get(field)) not in {"", None}
        }
        entry.shown = msgspec.json.encode({"at": event.time, "user": event.user} | known)
    return entry.shown
