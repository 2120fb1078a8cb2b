"""Streams the feed's decisions to its readers, by their filters and permissions, from any place on."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager

import msgspec

from baton.events.feed import LiveFeed
from baton.events.log import BATCH, LogEntry, LogPage, Place
from baton.kernel.base.errors import Forbidden, RateLimited
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import RedisUnavailable
from baton.people.users import row_scope
from baton.records.pipeline.recorder import Counters
from baton.records.pipeline.store import Filters, matches
from baton.records.review.bodies import DecisionModel
from baton.rules.call.call import Principal
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record

LOOK_S = 1.0
"""How often a stream checks whether to go on, in seconds."""
_OF_OUTCOME = ("at", "user", "session_id", "agent_id", "tool", "tool_use_id", "outcome", "duration_ms")
MOST_STREAMS = 200
MOST_OF_A_USER = 20
"""Streams that are open at a time in one process, and those of one user."""


class StreamBatch(msgspec.Struct, frozen=True):
    """One batch for a reader: the JSON of decisions and of outcomes, and whether some before them are `lost`.

    `place` is the place behind them. `before` is the place where the reader was.
    """

    decisions: list[bytes]
    outcomes: list[bytes]
    place: Place
    before: Place
    lost: bool = False

    @property
    def moves(self) -> bool:
        """Whether it contains entries of the feed at `place`."""
        return bool(self.decisions)


class FeedReaders:
    """The feed's readers in this process: their number, and each one's next page."""

    def __init__(self, feed: LiveFeed, counters: Counters) -> None:
        self._feed = feed
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
    ) -> AsyncGenerator[tuple[Principal, LogPage], None]:
        """Yield the entries after a place, None for now, at most every 100 ms.

        Each page comes with its reader as of now. The first page is empty and only has the place. It ends when `now`
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
                yield principal, LogPage([], place)
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
    """The feed's decisions, for readers with filters."""

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
        """Yield the decisions after a place, None for now, at most every 100 ms.

        The first batch is empty and only has the place. The stream ends when `now` returns no principal, or one no
        longer permitted to read decisions.
        """
        before: Place | None = None
        async with aclosing(self._readers.pages(principal, after, now)) as pages:
            async for reader, page in pages:
                try:
                    fit = fitting(page.entries, reader, wanted)
                    ended = _outcomes(page.entries, reader, wanted)
                except Forbidden:  # the role was changed meanwhile
                    return
                # A page without a match moves the place too, for the next ping.
                yield StreamBatch(fit, ended, page.place, before or page.place, page.lost)
                before = page.place


def fitting(entries: Iterable[LogEntry], reader: Principal, wanted: Filters) -> list[bytes]:
    """Return the JSON of the entries' decisions matching a reader's filters and permissions.

    Raises:
        Forbidden: If the role may not read decisions.
    """
    mine = msgspec.structs.replace(wanted, scope=row_scope(reader, "decisions.read"))
    return [
        _shown(entry, entry.content)
        for entry in entries
        if isinstance(entry.content, Record) and not entry.is_late and matches(entry.content, reader.organisation, mine)
    ]


def _outcomes(entries: Iterable[LogEntry], reader: Principal, wanted: Filters) -> list[bytes]:
    """Return the JSON of the entries' outcomes visible to a reader, filtered by session, user and tool.

    An outcome has no other facts of its decision, so other filters do not apply.

    Raises:
        Forbidden: If the role may not read decisions.
    """
    scope = row_scope(reader, "decisions.read")
    return [
        _shown_outcome(entry, report)
        for entry in entries
        if isinstance(report := entry.content, OutcomeReport)
        and report.tool
        and not entry.is_late
        and report.organisation == reader.organisation
        and scope.covers(report.user, report.team)
        and wanted.session_id in {"", report.session_id}
        and wanted.user in {"", report.user}
        and wanted.tool in {"", report.tool}
    ]


async def _news(woken: asyncio.Event) -> None:
    await pause(woken, LOOK_S)
    woken.clear()


def _shown(entry: LogEntry, record: Record) -> bytes:
    if not entry.shown:
        entry.shown = DecisionModel.build(record).model_dump_json(exclude_none=True).encode()
    return entry.shown


def _shown_outcome(entry: LogEntry, report: OutcomeReport) -> bytes:
    if not entry.shown:
        fields = {name: getattr(report, name) for name in _OF_OUTCOME}
        entry.shown = msgspec.json.encode({name: value for name, value in fields.items() if value not in {"", None}})
    return entry.shown
