"""Sum up the tokens of agent calls and of jobs, in SQL."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Select, String, Table, case, cast, func, literal_column, select

from baton.delegate.core.tables import JOBS
from baton.delegate.runners.agent_tokens import AGENT, DELEGATING_AGENT
from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.uuid7 import least_id
from baton.people.row_scope import RowScope
from baton.records.pipeline.tables import USAGE, DecisionRow

CostBy = Literal["user", "team", "project", "agent", "model", "day"]
MOST_ROWS = 10_000
"""Groups that are summed up, those with most tokens; by user, a large company has as many."""
OWN_TOOLS = "mcp\\_\\_baton\\_\\_%"
"""Baton's own tools: what they start is a job, which is summed up as such."""
_d = DecisionRow.__table__


class CostFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which calls and jobs to sum up; all fields that are set must hold. `since` is included, `until` is not."""

    since: datetime
    until: datetime | None = None
    user: str = ""
    team: str = ""
    project: str = ""
    session_id: str = ""


class CallSum(msgspec.Struct, frozen=True, kw_only=True):
    """The agent calls of one group that ran on one model; `led` are those that Baton put on it."""

    group: str
    model: str
    led: bool
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int


class JobTokenSum(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one group and tier; their input tokens include the cached ones. `priced_…` are tokens of jobs whose agent did not say what it cost."""

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
    """Sum up the agent calls whose client reported tokens, by group and model."""
    tokens = [_total(_d.c[name]).label(name) for name in ("input_tokens", "cached_tokens", "output_tokens")]
    query = select(
        _group(_d, by, database.dialect).label("group"),
        _d.c.model_used.label("model"),
        # A client that ignored the model ran on one of its own.
        ((_d.c.model_injected != "") & (_d.c.outcome != "rewrite_ignored")).label("led"),
        func.count().label("calls"),
        *tokens,
    ).where(
        _d.c.organisation == organisation,
        literal_column(USAGE),  # in these words, or neither database takes the index of such rows
        _d.c.tool.not_like(OWN_TOOLS, escape="\\"),
        # What the agent of a job reports of its own agents is part of what it reports of the job.
        _d.c.role.not_in((AGENT, DELEGATING_AGENT)),
    )
    # An id begins with its moment, and the index of such rows ends with it.
    query = query.where(_d.c.id >= least_id(wanted.since))
    if wanted.until is not None:
        query = query.where(_d.c.id < least_id(wanted.until))
    query = _limited(query, _d, scope, wanted).group_by(*map(literal_column, ("1", "2", "3")))
    async with database.transaction() as connection:
        rows = await connection.execute(query.order_by(literal_column("6").desc()).limit(MOST_ROWS))
        return [msgspec.convert(row._asdict(), CallSum, strict=False) for row in rows]


async def of_jobs(
    database: Database, organisation: str, scope: RowScope, wanted: CostFilter, by: CostBy
) -> list[JobTokenSum]:
    """Sum up the jobs that were made in a period, by group and tier."""
    unpriced = JOBS.c.cost_usd.is_(None)
    tokens = (JOBS.c.input_tokens, JOBS.c.cached_tokens, JOBS.c.output_tokens)
    query = select(
        _group(JOBS, by, database.dialect).label("group"),
        JOBS.c.tier,
        func.count().label("jobs"),
        *(_total(column).label(column.name) for column in tokens),
        *(
            _total(case((unpriced, column), else_=0)).label(name)
            for name, column in zip(("priced_input", "priced_cached", "priced_output"), tokens, strict=True)
        ),
        func.coalesce(func.sum(JOBS.c.cost_usd), 0.0).label("usd"),
    ).where(JOBS.c.organisation == organisation)
    query = query.where(JOBS.c.created_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(JOBS.c.created_at < wanted.until)
    query = _limited(query, JOBS, scope, wanted).group_by(literal_column("1"), JOBS.c.tier)
    async with database.transaction() as connection:
        rows = await connection.execute(query.order_by(literal_column("5").desc()).limit(MOST_ROWS))
        return [msgspec.convert(row._asdict(), JobTokenSum, strict=False) for row in rows]


def _limited(query: Select[Any], table: Table, scope: RowScope, wanted: CostFilter) -> Select[Any]:
    query = scope.limit(query, table)
    for name in ("user", "team", "project", "session_id"):
        if value := getattr(wanted, name):
            query = query.where(table.c[name] == storable(value))
    return query


def _group(table: Table, by: CostBy, dialect: str) -> ColumnElement[Any]:
    match by:
        case "day":
            # The day in UTC: SQLite stores moments as text in UTC, Postgres would convert them to the connection's zone.
            at = table.c.at if table is _d else table.c.created_at
            return func.substr(cast(at if dialect == "sqlite" else func.timezone("UTC", at), String), 1, 10)
        case "model":
            # A job that names no model runs on the one that its provider is set to.
            return _d.c.model_used if table is _d else func.coalesce(func.nullif(JOBS.c.model, ""), JOBS.c.provider)
        case "agent":
            return (
                _d.c.started_agent
                if table is _d
                else func.coalesce(func.nullif(JOBS.c.agent_type, ""), JOBS.c.provider)
            )
        case _:
            return table.c[by]


def _total(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)
