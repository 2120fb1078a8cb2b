"""A session's timeline, a page at a time, for callers with access to the session."""

import heapq
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from baton.delegate.jobs.costs import Price, price_of_call
from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import Database
from baton.people.users import row_scope
from baton.rules.call.call import Principal
from baton.sessions.timeline import store
from baton.sessions.timeline.bodies import KINDS, OF_DECISIONS, OF_JOBS, Kind, SortKey, TimelineItem

LARGEST_PAGE = 200


class Timelines:
    """Reads timelines. A session's items come from three tables and are merged by their places, oldest first."""

    def __init__(self, database: Database, prices: Mapping[str, Price]) -> None:
        self._database = database
        self._prices = dict(prices)

    async def page(
        self,
        principal: Principal,
        session_id: str,
        user: str,
        kinds: Sequence[Kind],
        *,
        after: SortKey | None,
        limit: int,
    ) -> list[TimelineItem]:
        """Return up to `limit` items of these kinds (all for none) after a place, oldest first.

        Raises:
            NotFound: If the session is unknown, or hidden from the principal.
            StoreUnavailable: If the database is unavailable.
        """
        wanted = frozenset(kinds or KINDS)
        scope = row_scope(principal, "sessions.read")
        organisation = principal.organisation
        parts: list[list[TimelineItem]] = []
        async with self._database.transaction("the timeline cannot be read now; try again") as connection:
            whose = await store.owner(connection, organisation, scope, session_id, user, principal.user)
            if whose is None or not session_id:
                raise NotFound(f"there is no session `{session_id}`; a new one may take a second to appear")
            session = (session_id, whose.user)
            if wanted & OF_DECISIONS:
                parts.append(await store.calls(connection, organisation, scope, session, wanted, after, limit))
            if wanted & OF_JOBS:
                parts.append(await store.job_steps(connection, organisation, scope, session, wanted, after, limit))
            if "mode" in wanted:
                parts.append(await store.mode_changes(connection, organisation, session_id, whose, after))
        merged = heapq.merge(*parts, key=lambda item: item.place)
        return [self._priced(item) for item, _ in zip(merged, range(limit), strict=False)]

    async def pages(
        self, principal: Principal, session_id: str, user: str, kinds: Sequence[Kind]
    ) -> AsyncIterator[Sequence[TimelineItem]]:
        """Return the whole timeline in lazily read pages.

        Raises:
            NotFound: If the session is unknown, or hidden from the principal.
            StoreUnavailable: If the database is unavailable now; while the pages are read, the iterator raises it.
        """
        first = await self.page(principal, session_id, user, kinds, after=None, limit=LARGEST_PAGE)

        async def read() -> AsyncIterator[Sequence[TimelineItem]]:
            found = first
            while found:
                yield found
                if len(found) < LARGEST_PAGE:
                    return
                place = found[-1].place
                found = await self.page(principal, session_id, user, kinds, after=place, limit=LARGEST_PAGE)

        return read()

    def _priced(self, item: TimelineItem) -> TimelineItem:
        record = item.record
        if record is None or not record.model_used or item.kind != "spawn":
            return item
        tokens = (record.input_tokens, record.cached_tokens, record.output_tokens)
        return msgspec.structs.replace(item, usd=price_of_call(self._prices, record.model_used, *tokens))
