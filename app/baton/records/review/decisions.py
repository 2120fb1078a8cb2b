"""Read recorded decisions, as far as a principal may see them."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal

import msgspec

from baton.kernel.base.errors import Invalid, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable, StoreErrors
from baton.people.users import covers, row_scope
from baton.records.pipeline import store
from baton.records.pipeline.store import BadCursorError
from baton.records.pipeline.store import Filters as DecisionFilter
from baton.rules.call.call import Principal
from baton.rules.call.record import Record

__all__ = ["DecisionFilter", "Decisions"]

_AWAY = "the decisions cannot be read now; try again"


class Decisions:
    """The recorded decisions: a developer sees their own, a lead their team's, an admin all."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(
        self, principal: Principal, wanted: DecisionFilter, cursor: str, limit: int
    ) -> tuple[list[Record], str]:
        """Return decisions, newest first, and the cursor of the next page ("" on the last).

        Raises:
            Invalid: If the cursor was not made by this server.
            StoreUnavailable: If the database is unavailable.
        """
        wanted = msgspec.structs.replace(wanted, scope=row_scope(principal, "decisions.read"))
        try:
            return await store.find_records(self._database, principal.organisation, wanted, cursor, limit)
        except BadCursorError as error:
            raise Invalid("cursor", str(error)) from None
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def pages(self, principal: Principal, wanted: DecisionFilter) -> AsyncIterator[Sequence[Record]]:
        """Return all matching decisions, newest first, in lazily read pages.

        Raises:
            StoreUnavailable: If the database is unavailable now; while the pages are read, the iterator raises it.
        """
        first, cursor = await self.find(principal, wanted, "", store.LARGEST_PAGE)

        async def read() -> AsyncIterator[Sequence[Record]]:
            page, after = first, cursor
            yield page
            while after:
                page, after = await self.find(principal, wanted, after, store.LARGEST_PAGE)
                yield page

        return read()

    async def names(self, principal: Principal, kind: Literal["user", "project", "rule"], name: str) -> set[str]:
        """Return the names of a kind in the newest decisions, and the name itself if any decision has it."""
        of_name, _ = await self.find(principal, msgspec.structs.replace(DecisionFilter(), **{kind: name}), "", 1)
        newest, _ = await self.find(principal, DecisionFilter(), "", store.LARGEST_PAGE)
        found = (*of_name, *newest)
        return (
            {hit.id for one in found for hit in one.rules} if kind == "rule" else {getattr(one, kind) for one in found}
        )

    async def get(self, principal: Principal, decision_id: str) -> Record:
        """Return one decision.

        Raises:
            NotFound: If the id is unknown, or hidden from the principal.
            StoreUnavailable: If the database is unavailable.
        """
        with StoreErrors(_AWAY):
            record = await store.get(self._database, principal.organisation, decision_id)
        if record is None or not covers(principal, "decisions.read", user=record.user, team=record.team):
            raise NotFound(f"there is no decision `{decision_id}`; a new one may take a second to appear")
        return record

    async def counts(self, principal: Principal) -> dict[str, int]:
        """Return the number of tool calls by effect, as visible to a principal.

        Raises:
            StoreUnavailable: If the database is unavailable.
        """
        scope = row_scope(principal, "decisions.read")
        with StoreErrors(_AWAY):
            return await store.totals(self._database, principal.organisation, scope)
