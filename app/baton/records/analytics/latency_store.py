"""Count decisions by time, event and how long they took, in SQL."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import Select, String, Table, cast, func, literal, select, union_all

from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.time_buckets import bucket_name
from baton.kernel.base.uuid7 import least_id
from baton.people.row_scope import RowScope
from baton.records.pipeline.hours import start_of_hour
from baton.records.pipeline.tables import DECISIONS
from baton.records.sums import measures
from baton.records.sums.periods import parts
from baton.records.sums.tables import LATENCY

LatencyBucket = Literal["hour", "day"]
_d = DECISIONS
_COLUMNS = ("hour", "event", "us", "degraded", "decisions")


class LatencyFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions; all fields that are set must hold. `since` is included, `until` is not."""

    since: datetime
    until: datetime
    event: str = ""
    user: str = ""
    team: str = ""


class LatencyCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many decisions of a bucket and an event took so long, and what was unavailable to them.

    Attributes:
        us: The least time that is counted here, in microseconds; see `measures.width_us`.
        degraded: The causes, as a JSON list.
    """

    bucket: str
    event: str
    us: int
    degraded: str
    count: int


async def find(
    database: Database, organisation: str, scope: RowScope, wanted: LatencyFilter, by: LatencyBucket
) -> list[LatencyCount]:
    """Return the counts of calls and of routed prompts, in the order of their buckets. Raise DatabaseUnavailable."""
    rows = _restricted(
        select(
            measures.hour(database.dialect).label("hour"),
            _d.c.event.label("event"),
            measures.rounded_us().label("us"),
            cast(_d.c.degraded, String).label("degraded"),
            literal(1).label("decisions"),
        ).where(measures.is_timed()),
        _d,
        organisation,
        wanted,
    )
    rows = scope.limit(rows, _d)
    async with database.transaction() as connection:
        if scope.user or wanted.user:  # sums tell of no person
            selects = [rows.where(_d.c.id >= least_id(wanted.since), _d.c.id < least_id(wanted.until))]
        else:
            period = await parts(connection, organisation, wanted.since, wanted.until)
            kept = _restricted(select(*(LATENCY.c[name] for name in _COLUMNS)), LATENCY, organisation, wanted)
            selects = [rows.where(*bounds) for bounds in period.rows]
            selects += [kept.where(*bounds) for bounds in period.of_sums(LATENCY)]
        each = union_all(*selects).subquery()
        keys = [each.c[name] for name in _COLUMNS[:-1]]
        query = select(*keys, func.sum(each.c.decisions).label("decisions")).group_by(*keys).order_by(each.c.hour)
        found = (await connection.execute(query)).all()
    counts: dict[tuple[str, str, int, str], int] = {}
    for row in found:
        key = (bucket_name(start_of_hour(row.hour), by), row.event, row.us, row.degraded)
        counts[key] = counts.get(key, 0) + int(row.decisions)
    return [
        LatencyCount(bucket=bucket, event=event, us=us, degraded=degraded, count=count)
        for (bucket, event, us, degraded), count in counts.items()
    ]


def _restricted(query: Select[Any], table: Table, organisation: str, wanted: LatencyFilter) -> Select[Any]:
    query = query.where(table.c.organisation == organisation)
    for name in ("event", "user", "team"):
        if value := getattr(wanted, name):
            query = query.where(table.c[name] == storable(value))
    return query
