"""Everything that a person follows live, in one stream: decisions as they are stored, and events as they are published."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden
from baton.operate.live.events import ACTIONS, LIVE_TOPICS, LiveEvents, LiveTopic, Shown
from baton.people.permissions import reach
from baton.people.row_scope import row_scope
from baton.records.pipeline.store import Filters
from baton.records.review.decision_stream import FeedReaders, fitting
from baton.records.review.feed import FeedEntry, FeedPage, Place

_ALL = Filters()


class LiveBatch(msgspec.Struct, frozen=True):
    """Events for a reader, each with the place behind it, oldest first.

    `place` is the place behind all of them, `before` the one where the reader was; `lost` if some before them are missing.
    """

    events: list[tuple[Place, Shown]]
    place: Place
    before: Place
    lost: bool = False

    @property
    def moves(self) -> bool:
        """Whether something in it stands in the feed at `place`."""
        return bool(self.events)


class LiveStream:
    """The open streams of this process; they count with those of `/decisions/stream`."""

    def __init__(self, readers: FeedReaders, events: LiveEvents) -> None:
        self._readers = readers
        self._events = events

    def admit(self, principal: Principal, topics: list[LiveTopic]) -> frozenset[LiveTopic]:
        """Return the topics that a new stream follows: those that it names, or all that the principal may follow.

        Raises:
            Forbidden: If the role may not follow one of the topics, or none at all.
            RateLimited: If the process or the user has too many streams.
        """
        wanted = topics or [one for one in LIVE_TOPICS if reach(principal, ACTIONS[one]) not in {None, "job"}]
        for topic in wanted or LIVE_TOPICS:
            row_scope(principal, ACTIONS[topic])
        self._readers.admit(principal)
        return frozenset(wanted)

    async def follow(
        self,
        principal: Principal,
        topics: frozenset[LiveTopic],
        after: Place | None,
        now: Callable[[], Principal | None],
    ) -> AsyncIterator[LiveBatch]:
        """Yield what comes behind a place, None for what comes from now on, at most every 100 ms.

        The first batch is empty and only tells the place. The stream ends when `now` returns no principal.
        """
        before: Place | None = None
        async with aclosing(self._readers.pages(principal, after, now)) as pages:
            async for reader, page in pages:
                events = list(self._of_page(page, reader, topics))
                yield LiveBatch(events, page.place, before or page.place, page.lost)
                before = page.place

    def _of_page(self, page: FeedPage, reader: Principal, topics: frozenset[LiveTopic]) -> list[tuple[Place, Shown]]:
        """Return a page's events for a reader; decisions between two other events come together."""
        found: list[tuple[Place, Shown]] = []
        decisions: list[FeedEntry] = []

        def flush() -> None:
            if decisions and "decisions" in topics:
                try:
                    fit = fitting(decisions, reader, _ALL)
                except Forbidden:  # the role was changed meanwhile; other topics go on
                    fit = []
                if fit:
                    found.append((decisions[-1].place, Shown("decisions", b'{"items":[' + b",".join(fit) + b"]}")))
            decisions.clear()

        for entry in page.entries:
            if entry.record is not None:
                decisions.append(entry)
            elif shown := self._events.shown(entry, reader, topics):
                flush()
                found.append((entry.place, shown))
        flush()
        return found
