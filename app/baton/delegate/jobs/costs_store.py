"""Sums up jobs by tier, provider, user, day or agent. It does not say scope, and knows no prices."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import BigInteger, ColumnElement, String, case, cast, func, literal_column, select

from baton.delegate.core.tables import JobRow
from baton.kernel.base.sql import Database, storable
from baton.people.row_scope import RowScope

By = Literal["tier", "provider", "user", "team", "day", "agent_type"]
_jobs = JobRow.__table__


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """What the jobs of one group and tier came to; `priced_*` counts tokens whose agent did not say what they cost."""

    group: str
    tier: str
    jobs: int
    completed: int
    failed: int
    cancelled: int
    input_tokens: int
    output_tokens: int
    priced_input: int
    priced_output: int
    cost_usd: float


async def sums(
    database: Database,
    organisation: str,
    scope: RowScope,
    by: By,
    since: datetime,
    until: datetime | None,
    user: str = "",
) -> list[Sum]:
    """Sum up the jobs that were made in a period, by group and tier, in the groups' order."""
    group = _group(by, database.dialect).label("group")
    unpriced = _jobs.c.cost_usd.is_(None)
    query = select(
        group,
        _jobs.c.tier,
        func.count().label("jobs"),
        *(_count(_jobs.c.state == state).label(state) for state in ("completed", "failed", "cancelled")),
        *(_total(_jobs.c[name]).label(name) for name in ("input_tokens", "output_tokens")),
        _total(case((unpriced, _jobs.c.input_tokens), else_=0)).label("priced_input"),
        _total(case((unpriced, _jobs.c.output_tokens), else_=0)).label("priced_output"),
        func.coalesce(func.sum(_jobs.c.cost_usd), 0.0).label("cost_usd"),
    ).where(_jobs.c.organisation == organisation, _jobs.c.created_at >= since)
    if until is not None:
        query = query.where(_jobs.c.created_at < until)
    if user:
        query = query.where(_jobs.c.user == storable(user))
    query = scope.limit(query, _jobs).group_by(literal_column('"group"'), _jobs.c.tier)
    async with database.transaction() as connection:
        rows = [msgspec.convert(row._asdict(), Sum, strict=False) for row in await connection.execute(query)]
    return sorted(rows, key=lambda row: (row.group, row.tier))


def _group(by: By, dialect: str) -> ColumnElement[Any]:
    if by != "day":
        return _jobs.c[by]
    moment = cast(_jobs.c.created_at, String) if dialect == "sqlite" else func.timezone("UTC", _jobs.c.created_at)
    return func.substr(cast(moment, String), 1, 10)


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def _total(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)
