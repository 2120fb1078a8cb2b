"""Queries over the tables of decisions and wrong blocks: by rule, and in order of time."""

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Select, Table, distinct, func, select

from baton.engine.call.record import Record
from baton.kernel.base.sql import Database
from baton.people.row_scope import RowScope
from baton.records.pipeline.store import LISTED, DecisionRow, DecisionRuleRow
from baton.records.replay.period import Period
from baton.records.review.wrong_blocks_store import WrongBlockRow

_decisions = DecisionRow.__table__
_rules = DecisionRuleRow.__table__
_reports = WrongBlockRow.__table__


class EffectHits(msgspec.Struct, frozen=True, kw_only=True):
    """How often a rule matched with one effect, and when last."""

    rule: str
    effect: str
    count: int
    last: datetime


async def hits(database: Database, organisation: str, scope: RowScope, period: Period) -> list[EffectHits]:
    """Return the hits by rule and effect."""
    query = (
        select(_rules.c.rule, _rules.c.effect, func.count(), func.max(_decisions.c.at))
        .join(_decisions, _decisions.c.id == _rules.c.decision_id)
        .group_by(_rules.c.rule, _rules.c.effect)
        .order_by(_rules.c.rule, _rules.c.effect)
    )
    rows = await _all(database, _limited(query, _decisions, organisation, scope, period))
    return [EffectHits(rule=row[0], effect=row[1], count=row[2], last=row[3]) for row in rows]


async def users(database: Database, organisation: str, scope: RowScope, period: Period) -> dict[str, int]:
    """Return how many users had a hit of each rule."""
    query = (
        select(_rules.c.rule, func.count(distinct(_decisions.c.user)))
        .join(_decisions, _decisions.c.id == _rules.c.decision_id)
        .group_by(_rules.c.rule)
    )
    return {row[0]: row[1] for row in await _all(database, _limited(query, _decisions, organisation, scope, period))}


async def reports(database: Database, organisation: str, scope: RowScope, period: Period) -> dict[str, int]:
    """Return how many wrong blocks were reported of each rule."""
    query = select(_reports.c.rule, func.count()).group_by(_reports.c.rule)
    return {row[0]: row[1] for row in await _all(database, _limited(query, _reports, organisation, scope, period))}


async def calls(
    database: Database, organisation: str, scope: RowScope, period: Period, *, after: str, limit: int
) -> list[Record]:
    """Return recorded tool calls, oldest first; `after` is the id of the last one of the page before."""
    query = select(*LISTED).where(_decisions.c.event == "PreToolUse", _decisions.c.id > after)
    query = _limited(query, _decisions, organisation, scope, period).order_by(_decisions.c.id).limit(limit)
    return [msgspec.convert(row._asdict(), Record) for row in await _all(database, query)]


async def count_calls(database: Database, organisation: str, scope: RowScope, period: Period) -> int:
    """Return how many tool calls of the period are recorded."""
    query = select(func.count()).select_from(_decisions).where(_decisions.c.event == "PreToolUse")
    return int((await _all(database, _limited(query, _decisions, organisation, scope, period)))[0][0])


def _limited(query: Select[Any], table: Table, organisation: str, scope: RowScope, period: Period) -> Select[Any]:
    query = query.where(table.c.organisation == organisation, table.c.at >= period.since, table.c.at < period.until)
    return scope.limit(query, table)


async def _all(database: Database, query: Select[Any]) -> Any:
    async with database.transaction() as connection:
        return (await connection.execute(query)).all()
