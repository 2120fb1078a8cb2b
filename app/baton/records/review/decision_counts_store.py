"""Count decisions by time and group, in SQL, from hourly sums where they tell enough."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import Select, Table, case, func, literal, literal_column, null, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database
from baton.kernel.base.time_buckets import Bucket, bucket_of, start_of_bucket
from baton.records.pipeline.hours import start_of_hour
from baton.records.pipeline.search import as_stored
from baton.records.pipeline.store import DecisionRow, DecisionRuleRow, Filters, restricted
from baton.records.pipeline.tables import HIT_EFFECTS
from baton.records.sums.measures import EFFECTS, OUTCOMES
from baton.records.sums.periods import Parts, parts
from baton.records.sums.reading import Restrict, calls, rule_hits

CountGroup = Literal["effect", "rule", "user", "client", "outcome"]
MOST_GROUPS = 20
"""Groups that are counted by name, the most frequent ones; the rest is counted together."""

_decisions = DecisionRow.__table__
_rules = DecisionRuleRow.__table__
_HOURS = {"hour": 1, "day": 24}
_EQUAL = ("user", "session_id", "client", "project", "event")
"""The filters that are columns of the sums."""
_COLUMNS: dict[str, dict[str, str]] = {
    "effect": {one: f"effect_{one}" for one in EFFECTS},
    "outcome": {one: f"outcome_{one}" for one in OUTCOMES},
}
"""The columns of the sums that hold the counts of an effect or of an outcome."""
_DECIDED = {"block": ["effect_deny"], "ask": ["effect_ask"]}
_ALLOWED = [f"effect_{one}" for one in EFFECTS if one not in {"deny", "ask"}]


class CountRow(msgspec.Struct, frozen=True):
    """How many decisions of a group were made in a bucket; `group` is None for all groups beyond the most frequent."""

    bucket: datetime
    group: str | None
    count: int


async def counts(
    database: Database, organisation: str, wanted: Filters, by: Bucket, group: CountGroup
) -> tuple[list[str], list[CountRow]]:
    """Return the names of the most frequent groups, the most frequent first, and the counts by bucket and group."""
    columns = None if by == "minute" else summed_columns(wanted, group)
    async with database.transaction() as connection:
        if by == "minute" or columns is None:
            return await _of_rows(connection, organisation, wanted, by, group)
        part = await parts(connection, organisation, wanted.since, wanted.until)
        if group in _COLUMNS:
            return await _by_column(connection, organisation, wanted, part, _HOURS[by], columns)
        return await _by_key(connection, organisation, wanted, part, _HOURS[by], group, columns)


def summed_columns(wanted: Filters, group: CountGroup) -> list[str] | None:
    """Return the columns of the sums that hold the counts, None where the rows must be read."""
    if wanted.agent_id or wanted.agent_type or wanted.tool or wanted.rule or wanted.revision or wanted.q:
        return None
    if wanted.effect in HIT_EFFECTS:
        return None
    narrowed: list[set[str]] = []
    if wanted.effect:
        narrowed.append({f"effect_{wanted.effect}"})
    if wanted.decision:
        narrowed.append(set(_DECIDED.get(wanted.decision, _ALLOWED)))
    if wanted.outcome:
        narrowed.append({f"outcome_{wanted.outcome}"})
    if wanted.overridden is not None:
        narrowed.append({"overridden"})
    if group == "rule":
        only_user = not (narrowed or wanted.session_id or wanted.client or wanted.project or wanted.event)
        return ["hits"] if only_user else None
    if group in _COLUMNS:
        known = set(_COLUMNS[group].values())
        return sorted(known.intersection(*narrowed)) if all(some <= known for some in narrowed) else None
    # The sums tell how many decisions have an effect, and how many an outcome, but not how many have both.
    if len(narrowed) > 1 or wanted.overridden is False:
        return None
    return sorted(narrowed[0]) if narrowed else ["decisions"]


async def _by_column(
    connection: AsyncConnection, organisation: str, wanted: Filters, part: Parts, hours: int, columns: list[str]
) -> tuple[list[str], list[CountRow]]:
    """Count by effect or outcome, each of which is a column of the sums."""
    source = calls(connection.dialect.name, organisation, part, columns, _restrict(wanted))
    query = select((source.c.hour // hours).label("bucket"), *(func.sum(source.c[name]) for name in columns))
    found = (await connection.execute(query.group_by(literal_column("1")).order_by(literal_column("1")))).all()
    names = [name.partition("_")[2] for name in columns]
    totals = {name: sum(int(row[number]) for row in found) for number, name in enumerate(names, 1)}
    often = sorted((name for name in names if totals[name]), key=lambda name: (-totals[name], name))
    rows = [
        CountRow(start_of_hour(row[0] * hours), name, int(count))
        for row in found
        for name, count in zip(names, row[1:], strict=True)
        if count
    ]
    return often, rows


async def _by_key(
    connection: AsyncConnection,
    organisation: str,
    wanted: Filters,
    part: Parts,
    hours: int,
    group: CountGroup,
    columns: list[str],
) -> tuple[list[str], list[CountRow]]:
    """Count by user, client or rule, which the sums are kept by."""
    dialect, restrict = connection.dialect.name, _restrict(wanted)
    if group == "rule":
        source = rule_hits(dialect, organisation, part, restrict)
    else:
        source = calls(dialect, organisation, part, [group, *columns], restrict)
    column, number = source.c[group], func.sum(sum((source.c[name] for name in columns), literal(0)))
    often = select(column, number.label("count")).group_by(column).having(number > 0)
    often = often.order_by(literal_column("2").desc(), column).limit(MOST_GROUPS)
    names = [row[0] for row in await connection.execute(often)]
    if not names:
        return [], []
    named = case((column.in_(names), column), else_=null())
    query = select((source.c.hour // hours).label("bucket"), named.label("named"), number.label("count"))
    query = query.group_by(literal_column("1"), literal_column("2")).having(number > 0)
    rows = await connection.execute(query.order_by(literal_column("1"), literal_column("2")))
    return names, [CountRow(start_of_hour(row[0] * hours), row[1], int(row[2])) for row in rows]


def _restrict(wanted: Filters) -> Restrict:
    def restrict(query: Select[Any], table: Table) -> Select[Any]:
        for name in _EQUAL:
            if value := getattr(wanted, name):
                query = query.where(table.c[name] == as_stored(name, value))
        return wanted.scope.limit(query, table)

    return restrict


async def _of_rows(
    connection: AsyncConnection, organisation: str, wanted: Filters, by: Bucket, group: CountGroup
) -> tuple[list[str], list[CountRow]]:
    """Count the rows that meet the filters, one by one."""
    column = _rules.c.rule if group == "rule" else _decisions.c[group]
    number = func.count().label("count")
    often = _of(select(column.label("name"), number), organisation, wanted, group).group_by(column)
    often = often.order_by(number.desc(), column).limit(MOST_GROUPS)
    names = [row.name for row in await connection.execute(often)]
    if not names:
        return [], []
    named = case((column.in_(names), column), else_=null())
    query = select(
        bucket_of(_decisions.c.at, by, connection.dialect.name).label("bucket"), named.label("group"), number
    )
    query = _of(query, organisation, wanted, group).group_by(literal_column("1"), literal_column("2"))
    rows = await connection.execute(query.order_by(literal_column("1"), literal_column("2")))
    return names, [CountRow(start_of_bucket(row[0], by), row[1], row[2]) for row in rows]


def _of(query: Select[Any], organisation: str, wanted: Filters, group: CountGroup) -> Select[Any]:
    if group == "rule":
        query = query.join_from(_decisions, _rules, _rules.c.decision_id == _decisions.c.id)
    elif group == "outcome":
        query = query.where(_decisions.c.outcome != "")
    return restricted(query, organisation, wanted)
