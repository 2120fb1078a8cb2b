"""Count decisions by time, event and how long they took, from their columns."""

from collections import Counter
from datetime import datetime
from typing import Literal

import msgspec

from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.time.time_buckets import bucket_name
from baton.people.row_scope import RowScope
from baton.records.columns.piece import Piece, grouped, in_scope, is_equal, met
from baton.records.columns.reading import Period, read
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
    conditions = [lambda piece: piece.where("event", "PreToolUse".__eq__) | ~piece.where("routed_by", "".__eq__)]
    conditions += in_scope(scope)
    conditions += [
        is_equal(name, storable(value)) for name in ("event", "user", "team") if (value := getattr(wanted, name))
    ]
    names = {*_KEYS, "routed_by", "user", "team"}
    counts: Counter[tuple[str, str, int, str]] = Counter()

    def work(piece: Piece) -> None:
        mask = met(piece, conditions)
        if mask.any():
            bucket = bucket_name(start_of_hour(piece.hour), by)
            groups = grouped(piece, _KEYS, mask)
            for key, count in zip(groups.keys, groups.counts.tolist(), strict=True):
                counts[bucket, *key] += count

    period = Period(wanted.since, wanted.until)
    async with database.transaction() as connection:
        await read(connection, organisation, names, period, work, by_hour=by == "hour")
    return [
        LatencyCount(bucket=bucket, event=event, us=us, degraded=degraded, count=count)
        for (bucket, event, us, degraded), count in counts.items()
    ]
