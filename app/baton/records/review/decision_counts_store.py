"""Count decisions by time and group, in SQL."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Select, String, case, cast, func, literal_column, null, select

from baton.kernel.base.sql import Database
from baton.records.pipeline.store import DecisionRow, DecisionRuleRow, Filters, restricted

Bucket = Literal["minute", "hour", "day"]
CountGroup = Literal["effect", "rule", "user", "client", "outcome"]
MOST_GROUPS = 20
"""Groups that are counted by name, the most frequent ones; the rest is counted together."""

_decisions = DecisionRow.__table__
_rules = DecisionRuleRow.__table__
_CUT = {"minute": (16, "YYYY-MM-DD HH24:MI"), "hour": (13, "YYYY-MM-DD HH24"), "day": (10, "YYYY-MM-DD")}
"""How much of SQLite's text of a moment is a bucket's, and Postgres's format of the same."""


class CountRow(msgspec.Struct, frozen=True):
    """How many decisions of a group were made in a bucket; `group` is None for all groups beyond the most frequent."""

    bucket: str
    group: str | None
    count: int


async def counts(
    database: Database, organisation: str, wanted: Filters, by: Bucket, group: CountGroup
) -> tuple[list[str], list[CountRow]]:
    """Return the names of the most frequent groups, the most frequent first, and the counts by bucket and group."""
    column = _rules.c.rule if group == "rule" else _decisions.c[group]
    number = func.count().label("count")
    often = _of(select(column.label("name"), number), organisation, wanted, group).group_by(column)
    often = often.order_by(number.desc(), column).limit(MOST_GROUPS)
    async with database.transaction() as connection:
        names = [row.name for row in await connection.execute(often)]
        if not names:
            return [], []
        named = case((column.in_(names), column), else_=null())
        query = select(_bucket(by, database.dialect).label("bucket"), named.label("group"), number)
        query = _of(query, organisation, wanted, group).group_by(literal_column("1"), literal_column("2"))
        rows = (await connection.execute(query.order_by(literal_column("1")))).all()
    return names, [CountRow(*row) for row in rows]


def _of(query: Select[Any], organisation: str, wanted: Filters, group: CountGroup) -> Select[Any]:
    if group == "rule":
        query = query.join_from(_decisions, _rules, _rules.c.decision_id == _decisions.c.id)
    elif group == "outcome":
        query = query.where(_decisions.c.outcome != "")
    return restricted(query, organisation, wanted)


def _bucket(by: Bucket, dialect: str) -> ColumnElement[str]:
    length, form = _CUT[by]
    if dialect == "sqlite":  # moments are texts in UTC
        return func.substr(cast(_decisions.c.at, String), 1, length)
    return func.to_char(func.timezone("UTC", _decisions.c.at), form)


def start_of_bucket(bucket: str, by: Bucket) -> datetime:
    """Return the moment at which a bucket begins."""
    moment = {"minute": bucket, "hour": f"{bucket}:00", "day": f"{bucket} 00:00"}[by]
    return datetime.fromisoformat(f"{moment}+00:00")
