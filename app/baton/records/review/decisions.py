"""Read recorded decisions, as far as a principal may see them."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.kernel.base.errors import Invalid, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.permissions import covers
from baton.people.row_scope import row_scope
from baton.records.pipeline import store
from baton.records.pipeline.store import BadCursorError
from baton.records.pipeline.store import Filters as DecisionFilter

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
            StoreUnavailable: If the database is away.
        """
        wanted = msgspec.structs.replace(wanted, scope=row_scope(principal, "decisions.read"))
        try:
            return await store.find(self._database, principal.organisation, wanted, cursor, limit)
        except BadCursorError as error:
            raise Invalid("cursor", str(error)) from None
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def pages(self, principal: Principal, wanted: DecisionFilter) -> AsyncIterator[Sequence[Record]]:
        """Return all decisions that are wanted, newest first, in pages that are read when they are asked for.

        Raises:
            StoreUnavailable: If the database is away now; while the pages are read, the iterator raises it.
        """
        first, cursor = await self.find(principal, wanted, "", store.LARGEST_PAGE)

        async def read() -> AsyncIterator[Sequence[Record]]:
            page, after = first, cursor
            yield page
            while after:
                page, after = await self.find(principal, wanted, after, store.LARGEST_PAGE)
                yield page

        return read()

    async def get(self, principal: Principal, decision_id: str) -> Record:
        """Return one decision.

        Raises:
            NotFound: If there is none with that id that the principal may see.
            StoreUnavailable: If the database is away.
        """
        try:
            record = await store.get(self._database, principal.organisation, decision_id)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        if record is None or not covers(principal, "decisions.read", user=record.user, team=record.team):
            raise NotFound(f"there is no decision `{decision_id}`; one that was just made may take a second to appear")
        return record

    async def counts(self, principal: Principal) -> dict[str, int]:
        """Return how many tool calls were decided with each effect, of those that a principal may see.

        Raises:
            StoreUnavailable: If the database is away.
        """
        scope = row_scope(principal, "decisions.read")
        try:
            return await store.totals(self._database, principal.organisation, scope)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
