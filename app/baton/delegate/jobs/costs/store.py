"""Sums of jobs in SQL, by tier, provider, user, team, day or agent."""

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import BigInteger, ColumnElement, String, case, cast, func, literal_column, select

from baton.delegate.core.stores.tables import JOBS
from baton.delegate.jobs.costs.prices import CostGrouping, JobSum
from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.people.row_scope import RowScope


async def sums(
    database: Database,
    organisation: str,
    scope: RowScope,
    by: CostGrouping,
    period: tuple[datetime, datetime | None],
    user: str = "",
) -> list[JobSum]:
    """Sum up the jobs that were made in a period, by group and tier, in the order of the groups' names."""
    since, until = period
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
    ).where(JOBS.c.organisation == organisation, JOBS.c.created_at >= since)
    if until is not None:
        query = query.where(JOBS.c.created_at < until)
    if user:
        query = query.where(JOBS.c.user == storable(user))
    query = scope.limit(query, JOBS).group_by(literal_column('"group"'), JOBS.c.tier)
    async with database.transaction() as connection:
        rows = [msgspec.convert(row._asdict(), JobSum, strict=False) for row in await connection.execute(query)]
    return sorted(rows, key=lambda row: (row.group, row.tier))


def _group(by: CostGrouping, dialect: str) -> ColumnElement[Any]:
    if by != "day":
        return JOBS.c[by]
    # The day in UTC: SQLite stores moments as text in UTC, Postgres would convert them to the connection's zone.
    moment = cast(JOBS.c.created_at, String) if dialect == "sqlite" else func.timezone("UTC", JOBS.c.created_at)
    return func.substr(cast(moment, String), 1, 10)


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def _total(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)
