"""Count decisions by time, event and how long they took, from the columns of their hours."""

from collections import Counter
from datetime import datetime
from typing import Literal

import msgspec

from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.time.time_buckets import bucket_name
from baton.people.row_scope import RowScope
from baton.records.columns.hour import grouped, in_scope, is_equal, met
from baton.records.columns.reading import Period, hours
from baton.records.pipeline.hours import start_of_hour

LatencyBucket = Literal["hour", "day"]
_KEYS = ("event", "elapsed_us", "degraded")


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
        us: The least time that is counted here, in microseconds; see `times.width_us`.
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
    """Return the counts of calls and of routed prompts. Raise DatabaseUnavailable."""
    conditions = [lambda hour: hour.where("event", "PreToolUse".__eq__) | ~hour.where("routed_by", "".__eq__)]
    conditions += in_scope(scope)
    conditions += [
        is_equal(name, storable(value)) for name in ("event", "user", "team") if (value := getattr(wanted, name))
    ]
    names = {*_KEYS, "routed_by", "user", "team"}
    counts: Counter[tuple[str, str, int, str]] = Counter()
    async with database.transaction() as connection:
        async for hour in hours(connection, organisation, names, Period(wanted.since, wanted.until)):
            mask = met(hour, conditions)
            if mask.any():
                bucket = bucket_name(start_of_hour(hour.hour), by)
                groups = grouped(hour, _KEYS, mask)
                for key, count in zip(groups.keys, groups.counts.tolist(), strict=True):
                    counts[bucket, *key] += count
    return [
        LatencyCount(bucket=bucket, event=event, us=us, degraded=degraded, count=count)
        for (bucket, event, us, degraded), count in counts.items()
    ]
