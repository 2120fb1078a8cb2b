"""Sum up the tokens of agent calls, from their columns, and of jobs, in SQL."""

from collections import defaultdict
from datetime import datetime
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, ColumnElement, Select, String, case, cast, func, literal_column, select

from baton.delegate.core.stores.tables import JOBS
from baton.delegate.runners.agent_tokens import AGENT, DELEGATING_AGENT
from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.people.row_scope import RowScope
from baton.records.columns.piece import Condition, Piece, grouped, in_scope, is_equal, met
from baton.records.columns.reading import Period, read
from baton.records.pipeline.hours import start_of_hour

CostBy = Literal["user", "team", "project", "agent", "model", "day"]
MOST_ROWS = 10_000
"""Groups that are summed up, those with most tokens; by user, a large company has as many."""
OWN_TOOLS = "mcp__baton__"
"""Baton's own tools: what they start is a job, which is summed up as such."""
_FILTERS = ("user", "team", "project", "session_id")
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
_COLUMN_OF: dict[CostBy, tuple[str, ...]] = {
    "user": ("user",), "team": ("team",), "project": ("project",), "agent": ("started_agent",), "model": ("model_used",), "day": (),
}  # fmt: skip
"""The column of agent calls that a group is named by."""


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
    conditions: list[Condition] = [
        lambda piece: piece.where("model_used", bool),
        lambda piece: ~piece.where("tool", lambda tool: tool.startswith(OWN_TOOLS)),
        # What the agent of a job reports of its own agents is part of what it reports of the job.
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
            # A client that ignored the model ran on one of its own.
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
    """Sum up the jobs that were made in a period, by group and tier."""
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
    ).where(JOBS.c.organisation == organisation)
    query = query.where(JOBS.c.created_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(JOBS.c.created_at < wanted.until)
    query = _limited(query, scope, wanted).group_by(literal_column("1"), JOBS.c.tier)
    async with database.transaction() as connection:
        rows = await connection.execute(query.order_by(literal_column("5").desc()).limit(MOST_ROWS))
        return [msgspec.convert(row._asdict(), JobTokenSum, strict=False) for row in rows]


def _limited(query: Select[Any], scope: RowScope, wanted: CostFilter) -> Select[Any]:
    query = scope.limit(query, JOBS)
    for name in _FILTERS:
        if value := getattr(wanted, name):
            query = query.where(JOBS.c[name] == storable(value))
    return query


def _group(by: CostBy, dialect: str) -> ColumnElement[Any]:
    match by:
        case "day":
            # The day in UTC: SQLite stores moments as text in UTC, Postgres would convert them to the connection's zone.
            at = JOBS.c.created_at
            return func.substr(cast(at if dialect == "sqlite" else func.timezone("UTC", at), String), 1, 10)
        case "model":
            # A job that names no model runs on the one that its provider is set to.
            return func.coalesce(func.nullif(JOBS.c.model, ""), JOBS.c.provider)
        case "agent":
            return func.coalesce(func.nullif(JOBS.c.agent_type, ""), JOBS.c.provider)
        case _:
            return JOBS.c[by]


def _total(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)
