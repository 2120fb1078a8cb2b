"""The costs of delegated tasks: prices by tier, sums of jobs in SQL, and `GET /analytics/jobs`."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field
from sqlalchemy import BigInteger, ColumnElement, String, case, cast, func, literal_column, select

from baton.delegate.core.stores.tables import JOBS
from baton.kernel.base.clock import start_of
from baton.kernel.base.sql import Database, StoreErrors, equal, within
from baton.kernel.http.features import of
from baton.kernel.http.fields import PeriodQuery, Shown
from baton.kernel.http.paging import JSON_OR_CSV, AsTable, csv_response
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.people.users import RowScope, row_scope
from baton.rules.call.call import Principal

CostGrouping = Literal["tier", "provider", "user", "team", "day", "agent_type"]
TIERS = ("CHEAP", "MEDIUM", "EXPENSIVE")
_PART = re.compile(r"(CHEAP|MEDIUM|EXPENSIVE)=(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)(?:/(\d+(?:\.\d+)?))?")
_CACHED = 0.1  # default price of a cached token as a fraction of an input token: vendors charge about a tenth
_MILLION = 1_000_000
_TIER_OF_MODEL = {"haiku": "CHEAP", "sonnet": "MEDIUM", "opus": "EXPENSIVE", "fable": "EXPENSIVE"}
"""Price tiers by a part of the model's name."""


class Price(msgspec.Struct, frozen=True):
    """USD per million input tokens, output tokens, and cached input tokens."""

    input: float
    output: float
    cached: float

    def cost(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> float:
        """Return the price of some tokens, in USD. `input_tokens` include cached ones."""
        read = (input_tokens - cached_tokens) * self.input + cached_tokens * self.cached
        return (read + output_tokens * self.output) / _MILLION


class JobTotals(msgspec.Struct, frozen=True, kw_only=True):
    """A group's numbers of jobs by end, and their tokens."""

    group: str
    jobs: int
    completed: int
    failed: int
    cancelled: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int


class JobSum(JobTotals, frozen=True, kw_only=True):
    """One group's jobs of one tier. `priced_…` are the tokens of jobs without a reported cost."""

    tier: str
    priced_input: int
    priced_cached: int
    priced_output: int
    cost_usd: float


class JobCosts(JobTotals, frozen=True, kw_only=True):
    """The costs of one group's jobs in USD: as reported, else by the tier's prices. `expensive_usd`: on the expensive tier."""

    usd: float
    expensive_usd: float
    saved_usd: float


def parse_prices(text: str) -> dict[str, Price]:
    """Parse `CHEAP=1/5 MEDIUM=3/15/0.3 EXPENSIVE=5/25`: input, output, cached (a tenth of input). Raise ValueError."""
    parts = text.split()
    found = [_PART.fullmatch(part) for part in parts]
    prices = {
        one[1]: Price(float(one[2]), float(one[3]), float(one[4]) if one[4] else float(one[2]) * _CACHED)
        for one in found
        if one is not None
    }
    if set(prices) != set(TIERS) or len(parts) != len(TIERS):
        raise ValueError(
            f"`{text}` is not a price for each tier; it must look like `CHEAP=1/5/0.1 MEDIUM=3/15/0.3 EXPENSIVE=5/25/0.5`"
        )
    return prices


def price_of_call(
    prices: Mapping[str, Price], model: str, input_tokens: int, cached_tokens: int, output_tokens: int
) -> float | None:
    """Return the price of a session's agent call in USD, or None for an unpriced model."""
    tier = next((tier for name, tier in _TIER_OF_MODEL.items() if name in model.casefold()), None)
    # Clients exclude cached tokens from input tokens; jobs include them.
    return None if tier is None else prices[tier].cost(input_tokens + cached_tokens, cached_tokens, output_tokens)


def costs_of(group: str, sums: Sequence[JobSum], prices: Mapping[str, Price]) -> JobCosts:
    """Price the sums of one group."""
    # Price a job without a tier as an expensive one, to avoid fictitious savings.
    expensive = prices["EXPENSIVE"]
    usd = sum(
        one.cost_usd + prices.get(one.tier, expensive).cost(one.priced_input, one.priced_cached, one.priced_output)
        for one in sums
    )
    input_tokens, output_tokens = sum(one.input_tokens for one in sums), sum(one.output_tokens for one in sums)
    cached_tokens = sum(one.cached_tokens for one in sums)
    expensive_usd = expensive.cost(input_tokens, cached_tokens, output_tokens)
    return JobCosts(
        group=group,
        jobs=sum(one.jobs for one in sums),
        completed=sum(one.completed for one in sums),
        failed=sum(one.failed for one in sums),
        cancelled=sum(one.cancelled for one in sums),
        input_tokens=input_tokens,
        cached_tokens=cached_tokens,
        output_tokens=output_tokens,
        usd=round(usd, 6),
        expensive_usd=round(expensive_usd, 6),
        saved_usd=round(expensive_usd - usd, 6),
    )


async def sum_jobs(
    database: Database,
    organisation: str,
    scope: RowScope,
    by: CostGrouping,
    period: tuple[datetime, datetime | None],
    user: str = "",
) -> list[JobSum]:
    """Sum up a period's jobs by group and tier, sorted by group."""
    group = _group(by, database.dialect).label("group")
    unpriced = JOBS.c.cost_usd.is_(None)
    query = select(
        group,
        JOBS.c.tier,
        func.count().label("jobs"),
        *(_count(JOBS.c.state == state).label(state) for state in ("completed", "failed", "cancelled")),
        *(_total(JOBS.c[name]).label(name) for name in ("input_tokens", "cached_tokens", "output_tokens")),
        _total(case((unpriced, JOBS.c.input_tokens), else_=0)).label("priced_input"),
        _total(case((unpriced, JOBS.c.cached_tokens), else_=0)).label("priced_cached"),
        _total(case((unpriced, JOBS.c.output_tokens), else_=0)).label("priced_output"),
        func.coalesce(func.sum(JOBS.c.cost_usd), 0.0).label("cost_usd"),
    ).where(JOBS.c.organisation == organisation, *equal(JOBS, user=user), *within(JOBS.c.created_at, *period))
    query = scope.limit(query, JOBS).group_by(literal_column('"group"'), JOBS.c.tier)
    return sorted(await database.read(query, JobSum, strict=False), key=lambda row: (row.group, row.tier))


def _group(by: CostGrouping, dialect: str) -> ColumnElement[Any]:
    if by != "day":
        return JOBS.c[by]
    # The UTC day. SQLite stores UTC strings; Postgres would use the connection's zone.
    moment = cast(JOBS.c.created_at, String) if dialect == "sqlite" else func.timezone("UTC", JOBS.c.created_at)
    return func.substr(cast(moment, String), 1, 10)


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def _total(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)


class JobAnalytics:
    """The costs of jobs."""

    def __init__(self, database: Database, prices: Mapping[str, Price]) -> None:
        self._database = database
        self._prices = dict(prices)

    async def sum_costs(
        self, principal: Principal, by: CostGrouping, *, since: datetime | None, until: datetime | None, user: str = ""
    ) -> list[JobCosts]:
        """Sum up the jobs of a period by group. Default: the last seven days. Raise Forbidden or StoreUnavailable."""
        rows = row_scope(principal, "analytics.read")
        start = start_of(since, until)
        with StoreErrors("jobs cannot be summed up now; try again"):
            sums = await sum_jobs(self._database, principal.organisation, rows, by, (start, until), user)
        return [costs_of(group, list(parts), self._prices) for group, parts in groupby(sums, key=lambda one: one.group)]


router = APIRouter(tags=["analytics"])
JobAnalyticsOf = Annotated[JobAnalytics, Depends(of(JobAnalytics))]


class JobCostsQuery(PeriodQuery):
    """Filter and grouping of costs."""

    by: CostGrouping = "tier"
    user: str = Field("", max_length=1_024)


class JobCostsListModel(BaseModel):
    """The costs of all groups, by name."""

    by: CostGrouping
    items: list[Shown[JobCosts]]


@router.get("/analytics/jobs", dependencies=[EXPENSIVE], response_model=JobCostsListModel, responses=JSON_OR_CSV)
async def get_job_analytics(
    caller: CallerOf, analytics: JobAnalyticsOf, query: Annotated[JobCostsQuery, Query()], as_table: AsTable
) -> JobCostsListModel | Response:
    """Sum up jobs by tier, provider, user, team, day or agent, as JSON or CSV. Default: the last seven days."""
    found = await analytics.sum_costs(caller.principal, query.by, since=query.since, until=query.until, user=query.user)
    if as_table:
        return csv_response(JobCosts.__struct_fields__, [msgspec.structs.astuple(one) for one in found])
    return JobCostsListModel(by=query.by, items=found)
