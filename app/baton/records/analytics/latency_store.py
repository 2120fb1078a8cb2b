"""Count decisions by time, event and how long they took, in SQL."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, String, case, cast, func, literal_column, or_, select

from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.time_buckets import bucket_of
from baton.kernel.base.uuid7 import least_id
from baton.people.row_scope import RowScope
from baton.records.pipeline.tables import DECISIONS

LatencyBucket = Literal["hour", "day"]
_d = DECISIONS
_STEPS = (1, 10, 100, 1_000, 10_000, 100_000)
"""What times are rounded down to, in microseconds: each keeps two digits, and the last one all that is slower."""


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
        us: The least time that is counted here, in microseconds; see `width_us`.
        degraded: The causes, as a JSON list.
    """

    bucket: str
    event: str
    us: int
    degraded: str
    count: int


def width_us(us: int) -> int:
    """Return how many microseconds the times that are counted together lie apart, the least of them being `us`."""
    return next((step for step in _STEPS if us < 100 * step), _STEPS[-1])


async def find(
    database: Database, organisation: str, scope: RowScope, wanted: LatencyFilter, by: LatencyBucket
) -> list[LatencyCount]:
    """Return the counts of calls and of routed prompts, in the order of their buckets. Raise DatabaseUnavailable."""
    query = select(
        bucket_of(_d.c.at, by, database.dialect).label("bucket"),
        _d.c.event.label("event"),
        _rounded(_d.c.elapsed_us).label("us"),
        cast(_d.c.degraded, String).label("degraded"),
        func.count().label("count"),
    ).where(
        _d.c.organisation == organisation,
        _d.c.id >= least_id(wanted.since),
        _d.c.id < least_id(wanted.until),
        # Other events are recorded without a decision that could have taken any time.
        or_(_d.c.event == "PreToolUse", _d.c.routed_by != ""),
    )
    for name in ("event", "user", "team"):
        if value := getattr(wanted, name):
            query = query.where(_d.c[name] == storable(value))
    columns: list[ColumnElement[Any]] = [literal_column(number) for number in ("1", "2", "3", "4")]
    query = scope.limit(query, _d).group_by(*columns).order_by(columns[0])
    async with database.transaction() as connection:
        return [msgspec.convert(row._asdict(), LatencyCount, strict=False) for row in await connection.execute(query)]


def _rounded(us: ColumnElement[int]) -> ColumnElement[Any]:
    """Return times rounded down to two digits, so that any number of decisions leaves few groups."""
    *steps, last = _STEPS
    return case(*((us < 100 * step, us - us % step) for step in steps), else_=us - us % last)
