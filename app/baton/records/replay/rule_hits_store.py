"""Queries over the tables of decisions and wrong blocks: by rule, and in order of time."""

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Select, Subquery, distinct, func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.engine.call.record import Record
from baton.kernel.base.sql import Database
from baton.kernel.base.uuid7 import least_id, moment_of
from baton.people.row_scope import RowScope
from baton.records.pipeline.tables import DECISIONS, LISTED
from baton.records.replay.period import Period
from baton.records.review.wrong_blocks_store import WrongBlockRow
from baton.records.sums.periods import parts
from baton.records.sums.reading import rule_hits

_reports = WrongBlockRow.__table__


class EffectHits(msgspec.Struct, frozen=True, kw_only=True):
    """How often a rule matched with one effect, and when last."""

    rule: str
    effect: str
    count: int
    last: datetime


async def hits(database: Database, organisation: str, scope: RowScope, period: Period) -> list[EffectHits]:
    """Return the hits by rule and effect, from hourly sums where they are kept."""
    async with database.transaction() as connection:
        source = await _hits(connection, organisation, scope, period)
        query = select(source.c.rule, source.c.effect, func.sum(source.c.hits), func.max(source.c.last_id))
        rows = await connection.execute(query.group_by(source.c.rule, source.c.effect))
        found = [EffectHits(rule=row[0], effect=row[1], count=int(row[2]), last=moment_of(row[3])) for row in rows]
    return sorted(found, key=lambda one: (one.rule, one.effect))


async def users(database: Database, organisation: str, scope: RowScope, period: Period) -> dict[str, int]:
    """Return how many users had a hit of each rule."""
    async with database.transaction() as connection:
        source = await _hits(connection, organisation, scope, period)
        query = select(source.c.rule, func.count(distinct(source.c.user))).group_by(source.c.rule)
        return {row[0]: row[1] for row in await connection.execute(query)}


async def _hits(connection: AsyncConnection, organisation: str, scope: RowScope, period: Period) -> Subquery:
    part = await parts(connection, organisation, period.since, period.until)
    return rule_hits(connection.dialect.name, organisation, part, scope.limit)


async def reports(database: Database, organisation: str, scope: RowScope, period: Period) -> dict[str, int]:
    """Return how many wrong blocks were reported of each rule."""
    query = select(_reports.c.rule, func.count()).group_by(_reports.c.rule)
    in_period = _reports.c.at >= period.since, _reports.c.at < period.until
    query = scope.limit(query.where(_reports.c.organisation == organisation, *in_period), _reports)
    return {row[0]: row[1] for row in await _all(database, query)}


async def calls(
    database: Database, organisation: str, scope: RowScope, period: Period, *, after: str, limit: int
) -> list[Record]:
    """Return recorded tool calls, oldest first; `after` is the id of the last one of the page before."""
    query = select(*LISTED).where(DECISIONS.c.event == "PreToolUse", DECISIONS.c.id > after)
    query = _limited(query, organisation, scope, period).order_by(DECISIONS.c.id).limit(limit)
    return [msgspec.convert(row._asdict(), Record) for row in await _all(database, query)]


async def count_calls(database: Database, organisation: str, scope: RowScope, period: Period, most: int) -> int:
    """Return how many tool calls of the period are recorded, as far as `most`."""
    query: Select[Any] = select(literal_column("1")).where(DECISIONS.c.event == "PreToolUse")
    some = _limited(query, organisation, scope, period).limit(most).subquery()
    return int((await _all(database, select(func.count()).select_from(some)))[0][0])


def _limited(query: Select[Any], organisation: str, scope: RowScope, period: Period) -> Select[Any]:
    """Restrict a query of decisions to a scope and a period, which their ids tell."""
    key = DECISIONS.c.id
    bounds = key >= least_id(period.since), key < least_id(period.until)
    return scope.limit(query.where(DECISIONS.c.organisation == organisation, *bounds), DECISIONS)


async def _all(database: Database, query: Select[Any]) -> Any:
    async with database.transaction() as connection:
        return (await connection.execute(query)).all()
