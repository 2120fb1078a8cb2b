"""`GET /analytics/cost`: the cost of agents, by user, team, project, agent, model or day."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from fastapi import APIRouter, Depends, Query, Response
from msgspec.structs import asdict, fields
from numpy.typing import NDArray
from pydantic import BaseModel, Field
from sqlalchemy import BigInteger, ColumnElement, String, case, cast, func, literal_column, select

from baton.delegate.core.stores.tables import JOBS
from baton.delegate.jobs.costs import Price, price_of_call
from baton.delegate.runners.agent_tokens import AGENT, DELEGATING_AGENT
from baton.kernel.base.clock import period_of
from baton.kernel.base.sql import Database, StoreErrors, equal, within
from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT, PeriodQuery, Shown
from baton.kernel.http.paging import JSON_OR_CSV, AsTable, csv_response
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.people.users import RowScope, row_scope
from baton.records.columns.hours import start_of_hour
from baton.records.columns.piece import Condition, Piece, grouped, in_scope, is_equal, met
from baton.records.columns.reading import Period, read
from baton.rules.call.call import Principal
from baton.shared.storable import storable

# The cost of agents: the calls starting them, and jobs, priced and summed by group.

# Sum up the tokens of agent calls, from their columns, and of jobs, in SQL.

CostBy = Literal["user", "team", "project", "agent", "model", "day"]
MOST_ROWS = 10_000
"""Maximum groups of a sum, those with most tokens; by user, a large company has as many."""
OWN_TOOLS = "mcp__baton__"
"""Baton's own tools: they start jobs, which are summed separately."""
_FILTERS = ("user", "team", "project", "session_id")
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
_COLUMN_OF: dict[CostBy, tuple[str, ...]] = {
    "user": ("user",), "team": ("team",), "project": ("project",), "agent": ("started_agent",), "model": ("model_used",), "day": (),
}  # fmt: skip
"""The column of agent calls for a group's name."""


class CostFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of calls and jobs; all set ones must match. `since` is inclusive, `until` exclusive."""

    since: datetime
    until: datetime | None = None
    user: str = ""
    team: str = ""
    project: str = ""
    session_id: str = ""


class CallSum(msgspec.Struct, frozen=True, kw_only=True):
    """The agent calls of one group on one model; `led`: Baton selected the model."""

    group: str
    model: str
    led: bool
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int


class JobTokenSum(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one group and tier; input tokens include cached ones. `priced_…`: tokens without a reported cost."""

    group: str
    tier: str
    jobs: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    priced_input: int
    priced_cached: int
    priced_output: int
    usd: float


async def of_calls(
    database: Database, organisation: str, scope: RowScope, wanted: CostFilter, by: CostBy
) -> list[CallSum]:
    """Sum up the agent calls with tokens reported by the client, by group and model."""
    conditions: list[Condition] = [
        lambda piece: piece.where("model_used", bool),
        lambda piece: ~piece.where("tool", lambda tool: tool.startswith(OWN_TOOLS)),
        # A job's report includes its agent's own agents.
        lambda piece: ~piece.where("role", {AGENT, DELEGATING_AGENT}.__contains__),
        *in_scope(scope),
    ]
    conditions += [is_equal(name, storable(value)) for name in _FILTERS if (value := getattr(wanted, name))]
    keys = (*_COLUMN_OF[by], "model_used", "model_injected", "outcome")
    names = {*keys, *_TOKENS, *_FILTERS, "tool", "role"}
    sums: defaultdict[tuple[str, str, bool], NDArray[np.int64]] = defaultdict(lambda: np.zeros(4, np.int64))

    def work(piece: Piece) -> None:
        mask = met(piece, conditions)
        if not mask.any():
            return
        groups = grouped(piece, keys, mask)
        numbers = np.array([np.ones(piece.count, np.int64), *(piece.numbers(name) for name in _TOKENS)])
        for (*key, model, injected, outcome), of_group in zip(groups.keys, groups.sums(numbers).T, strict=True):
            group = key[0] if key else start_of_hour(piece.hour).date().isoformat()
            # A client that ignored the model ran on its own.
            sums[group, model, injected != "" and outcome != "rewrite_ignored"] += of_group

    async with database.transaction() as connection:
        await read(connection, organisation, names, Period(wanted.since, wanted.until), work)
    found = [
        CallSum(group=group, model=model, led=led, **dict(zip(("calls", *_TOKENS), of_group.tolist(), strict=True)))
        for (group, model, led), of_group in sums.items()
    ]
    return sorted(found, key=lambda one: -one.input_tokens)[:MOST_ROWS]


async def of_jobs(
    database: Database, organisation: str, scope: RowScope, wanted: CostFilter, by: CostBy
) -> list[JobTokenSum]:
    """Sum up the jobs created in a period, by group and tier."""
    unpriced = JOBS.c.cost_usd.is_(None)
    tokens = (JOBS.c.input_tokens, JOBS.c.cached_tokens, JOBS.c.output_tokens)
    query = select(
        _group(by, database.dialect).label("group"),
        JOBS.c.tier,
        func.count().label("jobs"),
        *(_total(column).label(column.name) for column in tokens),
        *(
            _total(case((unpriced, column), else_=0)).label(name)
            for name, column in zip(("priced_input", "priced_cached", "priced_output"), tokens, strict=True)
        ),
        func.coalesce(func.sum(JOBS.c.cost_usd), 0.0).label("usd"),
    ).where(
        JOBS.c.organisation == organisation,
        *within(JOBS.c.created_at, wanted.since, wanted.until),
        *equal(JOBS, **{name: getattr(wanted, name) for name in _FILTERS}),
    )
    query = scope.limit(query, JOBS).group_by(literal_column("1"), JOBS.c.tier)
    return await database.read(query.order_by(literal_column("5").desc()).limit(MOST_ROWS), JobTokenSum, strict=False)


def _group(by: CostBy, dialect: str) -> ColumnElement[Any]:
    match by:
        case "day":
            # The day in UTC: SQLite stores timestamps as text in UTC, Postgres would convert them to the connection's
            # zone.
            at = JOBS.c.created_at
            return func.substr(cast(at if dialect == "sqlite" else func.timezone("UTC", at), String), 1, 10)
        case "model":
            # A job without a model runs on its provider's configured one.
            return func.coalesce(func.nullif(JOBS.c.model, ""), JOBS.c.provider)
        case "agent":
            return func.coalesce(func.nullif(JOBS.c.agent_type, ""), JOBS.c.provider)
        case _:
            return JOBS.c[by]


def _total(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)


__all__ = ["AgentCosts", "CostBy", "GroupCost"]


class GroupCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one group.

    `usd` is `calls_usd` (the sub-agents of sessions, by tokens reported by their clients) + `jobs_usd` (delegated
    tasks). No token is in both. `unpriced_tokens` are those of models without a price; `usd` excludes them. `saved_usd`
    is the extra cost on the expensive tier of calls that Baton put on another model; calls whose client ignored that
    model, and those without a price, save nothing.
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
    """Sums up the cost of a principal's people's agents.

    Nothing is counted twice: a job's report includes the agents started by its agent, so such calls are excluded, as
    are the calls by which a session starts a job.
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
        """Sum up a period by group, the last seven days without `since`: days in order, else the most expensive first.

        Raises:
            Forbidden: If the role may not read analytics.
            Invalid: If the period is longer than 366 days.
            StoreUnavailable: If the database is unavailable or takes too long.
        """
        scope = row_scope(principal, "analytics.read")
        start, _ = period_of(since, until)
        wanted = CostFilter(since=start, until=until, user=user, team=team, project=project, session_id=session_id)
        with StoreErrors("costs cannot be summed up now; try a shorter period, or later"):
            calls = await of_calls(self._database, principal.organisation, scope, wanted, by)
            jobs = await of_jobs(self._database, principal.organisation, scope, wanted, by)
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
        # Like `/analytics/jobs`: a job without a tier counts as expensive.
        expensive = self._prices["EXPENSIVE"]
        saved_usd = sum(
            expensive.cost(one.input_tokens + one.cached_tokens, one.cached_tokens, one.output_tokens) - usd
            for one, usd in priced
            if one.led and usd is not None
        )
        jobs_usd = sum(
            one.usd + self._prices.get(one.tier, expensive).cost(one.priced_input, one.priced_cached, one.priced_output)
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


router = APIRouter(tags=["analytics"])
CostsOf = Annotated[AgentCosts, Depends(of(AgentCosts))]
FilterText = Annotated[str, Field(max_length=1_024)]
_COLUMNS = tuple(field.name for field in fields(GroupCost))


class CostQuery(PeriodQuery):
    """Filters and grouping of costs."""

    by: CostBy = "day"
    user: FilterText = ""
    team: FilterText = ""
    project: Annotated[FilterText, PROJECT] = ""
    session_id: FilterText = ""


class CostListModel(BaseModel):
    """The costs of all groups: days in order, else the most expensive first."""

    by: CostBy
    items: list[Shown[GroupCost]]


@router.get("/analytics/cost", dependencies=[EXPENSIVE], response_model=CostListModel, responses=JSON_OR_CSV)
async def get_cost(
    caller: CallerOf, costs: CostsOf, query: Annotated[CostQuery, Query()], as_table: AsTable
) -> CostListModel | Response:
    """Sum up the cost of agents; the last seven days without `since`. `Accept: text/csv` gives a table."""
    found = await costs.find(caller.principal, query.by, **query.model_dump(exclude={"by"}))
    if as_table:
        return csv_response(_COLUMNS, (tuple(asdict(one).values()) for one in found))
    return CostListModel(by=query.by, items=found)
