"""What delegated tasks cost, and what the same tokens would have cost on the expensive tier. It prices no other calls."""

from collections.abc import Mapping
from datetime import datetime
from itertools import groupby

import msgspec

from baton.delegate.jobs import costs_store as store
from baton.delegate.jobs.costs_store import By, Sum
from baton.delegate.jobs.prices import Price, price_of
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.periods import start_of
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.row_scope import row_scope


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one group. `usd` is what agents said, and by the tier's prices where they said nothing."""

    group: str
    jobs: int
    completed: int
    failed: int
    cancelled: int
    input_tokens: int
    output_tokens: int
    usd: float
    expensive_usd: float
    saved_usd: float


class JobAnalytics:
    """Sums up jobs."""

    def __init__(self, database: Database, prices: Mapping[str, Price]) -> None:
        self._database = database
        self._prices = dict(prices)

    async def find(
        self, principal: Principal, by: By, *, since: datetime | None, until: datetime | None, user: str = ""
    ) -> list[Spent]:
        """Sum up the jobs of a period, the last seven days without `since`.

        Raises:
            Forbidden: the role may not.
            StoreUnavailable: the database is away.
        """
        theirs = row_scope(principal, "analytics.read")
        start = start_of(since, until)
        try:
            sums = await store.sums(self._database, principal.organisation, theirs, by, start, until, user)
        except DatabaseUnavailable:
            raise StoreUnavailable("jobs cannot be summed up now; try again") from None
        return [self._spent(group, list(parts)) for group, parts in groupby(sums, key=lambda one: one.group)]

    def _spent(self, group: str, parts: list[Sum]) -> Spent:
        usd = sum(
            part.cost_usd + price_of(self._prices, part.tier).of(part.priced_input, part.priced_output)
            for part in parts
        )
        tokens = sum(part.input_tokens for part in parts), sum(part.output_tokens for part in parts)
        expensive = self._prices["EXPENSIVE"].of(*tokens)
        return Spent(
            group=group,
            jobs=sum(part.jobs for part in parts),
            completed=sum(part.completed for part in parts),
            failed=sum(part.failed for part in parts),
            cancelled=sum(part.cancelled for part in parts),
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            usd=round(usd, 6),
            expensive_usd=round(expensive, 6),
            saved_usd=round(expensive - usd, 6),
        )
