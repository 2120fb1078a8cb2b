"""Sums up what delegated tasks cost, for the people who may see it."""

from collections.abc import Mapping
from datetime import datetime
from itertools import groupby

from baton.delegate.jobs.costs import store
from baton.delegate.jobs.costs.prices import CostGrouping, JobCosts, Price, costs_of
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time.periods import start_of
from baton.people.row_scope import row_scope


class JobAnalytics:
    """The costs of jobs."""

    def __init__(self, database: Database, prices: Mapping[str, Price]) -> None:
        self._database = database
        self._prices = dict(prices)

    async def find(
        self,
        principal: Principal,
        by: CostGrouping,
        *,
        since: datetime | None,
        until: datetime | None,
        user: str = "",
    ) -> list[JobCosts]:
        """Sum up the jobs of a period by group, the last seven days without `since`.

        Raises:
            Forbidden: If the role may not read analytics.
            StoreUnavailable: If the database is away.
        """
        rows = row_scope(principal, "analytics.read")
        start = start_of(since, until)
        try:
            sums = await store.sums(self._database, principal.organisation, rows, by, (start, until), user)
        except DatabaseUnavailable:
            raise StoreUnavailable("jobs cannot be summed up now; try again") from None
        return [costs_of(group, list(parts), self._prices) for group, parts in groupby(sums, key=lambda one: one.group)]
