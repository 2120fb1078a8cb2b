"""What agents cost: the calls that started one, and jobs, priced and summed up by group."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain

import msgspec

from baton.delegate.jobs.costs.prices import Price, price_of_call
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time.periods import start_of
from baton.operate.costs import store
from baton.operate.costs.store import CallSum, CostBy, CostFilter, JobTokenSum
from baton.people.row_scope import row_scope

__all__ = ["AgentCosts", "CostBy", "GroupCost"]

LONGEST_PERIOD = timedelta(days=366)


class GroupCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one group cost.

    Attributes:
        input_tokens: Those that were not read from the cache.
        usd: `calls_usd`, for the agent calls of sessions, and `jobs_usd`.
        saved_usd: What agent calls that Baton put on another model, and whose client obeyed, would have cost more on the
            expensive tier.
        unpriced_tokens: Tokens of agent calls on models that no tier has a price for; `usd` leaves them out.
    """

    group: str
    agent_calls: int
    jobs: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usd: float
    calls_usd: float
    jobs_usd: float
    saved_usd: float
    unpriced_tokens: int


class AgentCosts:
    """Sums up what the agents of a principal's people cost.

    Nothing is counted twice: what the agent of a job reports of the agents that it starts is part of what it reports of
    the job, so such calls are left out, and so are the calls by which a session starts a job.
    """

    def __init__(self, database: Database, prices: Mapping[str, Price]) -> None:
        self._database = database
        self._prices = dict(prices)

    async def find(
        self,
        principal: Principal,
        by: CostBy,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        user: str = "",
        team: str = "",
        project: str = "",
        session_id: str = "",
    ) -> list[GroupCost]:
        """Sum up a period by group, the last seven days without `since`: days in order, else the dearest first.

        Raises:
            Forbidden: If the role may not read analytics.
            Invalid: If the period is longer than 366 days.
            StoreUnavailable: If the database is away or takes too long.
        """
        scope = row_scope(principal, "analytics.read")
        start = start_of(since, until)
        if (until or datetime.now(UTC)) - start > LONGEST_PERIOD:
            raise Invalid("since", f"is more than {LONGEST_PERIOD.days} days before the end of the period")
        wanted = CostFilter(since=start, until=until, user=user, team=team, project=project, session_id=session_id)
        try:
            calls = await store.of_calls(self._database, principal.organisation, scope, wanted, by)
            jobs = await store.of_jobs(self._database, principal.organisation, scope, wanted, by)
        except DatabaseUnavailable:
            raise StoreUnavailable("costs cannot be summed up now; try a shorter period, or later") from None
        calls_of: dict[str, list[CallSum]] = defaultdict(list)
        jobs_of: dict[str, list[JobTokenSum]] = defaultdict(list)
        for call in calls:
            calls_of[call.group].append(call)
        for job in jobs:
            jobs_of[job.group].append(job)
        found = [self._cost(name, calls_of[name], jobs_of[name]) for name in dict.fromkeys(chain(calls_of, jobs_of))]
        return sorted(found, key=lambda one: (one.group,) if by == "day" else (-one.usd, one.group))

    def _cost(self, group: str, calls: list[CallSum], jobs: list[JobTokenSum]) -> GroupCost:
        priced = [
            (one, price_of_call(self._prices, one.model, one.input_tokens, one.cached_tokens, one.output_tokens))
            for one in calls
        ]
        calls_usd = sum(usd for _, usd in priced if usd is not None)
        # As `/analytics/jobs` prices them: one without a tier is an expensive one.
        expensive = self._prices["EXPENSIVE"]
        saved_usd = sum(
            expensive.of(one.input_tokens + one.cached_tokens, one.cached_tokens, one.output_tokens) - usd
            for one, usd in priced
            if one.led and usd is not None
        )
        jobs_usd = sum(
            one.usd + self._prices.get(one.tier, expensive).of(one.priced_input, one.priced_cached, one.priced_output)
            for one in jobs
        )
        return GroupCost(
            group=group,
            agent_calls=sum(one.calls for one in calls),
            jobs=sum(one.jobs for one in jobs),
            input_tokens=sum(one.input_tokens for one in calls)
            + sum(one.input_tokens - one.cached_tokens for one in jobs),
            cached_tokens=sum(one.cached_tokens for one in calls) + sum(one.cached_tokens for one in jobs),
            output_tokens=sum(one.output_tokens for one in calls) + sum(one.output_tokens for one in jobs),
            usd=round(calls_usd + jobs_usd, 6),
            calls_usd=round(calls_usd, 6),
            jobs_usd=round(jobs_usd, 6),
            saved_usd=round(saved_usd, 6),
            unpriced_tokens=sum(
                one.input_tokens + one.cached_tokens + one.output_tokens for one, usd in priced if usd is None
            ),
        )
