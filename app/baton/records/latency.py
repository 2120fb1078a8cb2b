"""How long decisions took, and how many were made without something or not at all, by hour or day."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Query, Response

from baton.kernel.base.clock import bucket_name, period_of, start_of_bucket
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.http.features import of
from baton.kernel.http.fields import PeriodQuery, Shown
from baton.kernel.http.paging import JSON_OR_CSV, AsTable, Text, csv_response
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.people.users import RowScope, row_scope
from baton.records import hook_failures
from baton.records.columns.hours import start_of_hour
from baton.records.columns.piece import Piece, grouped, in_scope, is_equal, met
from baton.records.columns.reading import Period, read
from baton.records.columns.tables import width_us
from baton.records.hook_failures import HookFailureCount
from baton.rules.call.call import Principal
from baton.shared.storable import storable

# Count decisions by time, event and how long they took, from their columns.

LatencyBucket = Literal["hour", "day"]
_KEYS = ("event", "elapsed_us", "degraded")


class LatencyCount(msgspec.Struct, frozen=True, kw_only=True):
    """The number of decisions of a bucket and an event with one latency and the same missing services.

    Attributes:
        us: The minimum latency counted here, in microseconds; see `times.width_us`.
        degraded: The causes, as a JSON list.
    """

    bucket: str
    event: str
    us: int
    degraded: str
    count: int


async def find_counts(
    database: Database, organisation: str, scope: RowScope, period: Period, by: LatencyBucket, **wanted: str
) -> list[LatencyCount]:
    """Return the counts of calls and of routed prompts with the wanted values, "" for any. Raise DatabaseUnavailable."""
    conditions = [lambda piece: piece.where("event", "PreToolUse".__eq__) | ~piece.where("routed_by", "".__eq__)]
    conditions += in_scope(scope)
    conditions += [is_equal(name, storable(value)) for name, value in wanted.items() if value]
    names = {*_KEYS, "routed_by", "user", "team"}
    counts: Counter[tuple[str, str, int, str]] = Counter()

    def work(piece: Piece) -> None:
        mask = met(piece, conditions)
        if mask.any():
            bucket = bucket_name(start_of_hour(piece.hour), by)
            groups = grouped(piece, _KEYS, mask)
            for key, count in zip(groups.keys, groups.counts.tolist(), strict=True):
                counts[bucket, *key] += count

    async with database.transaction() as connection:
        await read(connection, organisation, names, period, work, by_hour=by == "hour")
    return [
        LatencyCount(bucket=bucket, event=event, us=us, degraded=degraded, count=count)
        for (bucket, event, us, degraded), count in counts.items()
    ]


__all__ = ["Latencies", "Latency", "LatencyBucket", "LatencyReport"]

USUAL: Mapping[LatencyBucket, timedelta] = {"hour": timedelta(days=1), "day": timedelta(days=7)}
"""The period of a request that names no start."""
LONGEST: Mapping[LatencyBucket, timedelta] = {"hour": timedelta(days=31), "day": timedelta(days=366)}
_SHARES = (0.5, 0.9, 0.99)


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions of one event in the whole period: calls (`PreToolUse`) or routed prompts (`UserPromptSubmit`).

    Half of them were made within `p50_ms`, and so on; these are within 5 % of the truth. `degraded` counts decisions
    with unavailable services, `lacking` counts them by service.
    """

    event: str
    decisions: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    degraded: int
    lacking: dict[str, int]


class BucketLatency(Latency, frozen=True, kw_only=True):
    """The decisions of one event in the hour or day (UTC) starting `at`; one without any is left out."""

    at: datetime


class LatencyReport(msgspec.Struct, frozen=True, kw_only=True):
    """How long decisions took: `events` in the whole period, `items` by hour or day, oldest first.

    `failures` are the hook calls without a decision.
    """

    by: LatencyBucket
    since: datetime
    until: datetime
    events: list[Latency]
    items: list[BucketLatency]
    failures: list[HookFailureCount]


class Latencies:
    """Sums up how long decisions took."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def summarize(
        self,
        principal: Principal,
        by: LatencyBucket,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        event: str = "",
        user: str = "",
        team: str = "",
    ) -> LatencyReport:
        """Sum up a period: without `since` the last day by hour, the last week by day.

        The owner of an undecided call is unknown, so `failures` are everybody's, and left out for a user or a team.

        Raises:
            Forbidden: If the role may not read analytics.
            Invalid: If the period is too long.
            StoreUnavailable: If the database is unavailable or takes too long.
        """
        scope = row_scope(principal, "analytics.read")
        start, end = period_of(since, until, USUAL[by], LONGEST[by], by)
        with StoreErrors("latencies cannot be summed up now; try a shorter period, or later"):
            counts = await find_counts(
                self._database, principal.organisation, scope, Period(start, end), by, event=event, user=user, team=team
            )
            failures = (
                []
                if event or user or team
                else await hook_failures.find_failures(self._database, principal.organisation, start, end, by)
            )
        in_order = sorted(counts, key=lambda one: (one.bucket, one.event))
        items = [
            BucketLatency(at=start_of_bucket(bucket, by), **_summed(event, list(of_it)))
            for (bucket, event), of_it in groupby(in_order, key=lambda one: (one.bucket, one.event))
        ]
        by_event = sorted(counts, key=lambda one: one.event)
        events = [
            Latency(**_summed(event, list(of_it))) for event, of_it in groupby(by_event, key=lambda one: one.event)
        ]
        return LatencyReport(by=by, since=start, until=end, events=events, items=items, failures=failures)


def _summed(event: str, counts: list[LatencyCount]) -> dict[str, Any]:
    times: Counter[int] = Counter()
    lacking: Counter[str] = Counter()
    degraded = 0
    for one in counts:
        times[one.us] += one.count
        causes = msgspec.json.decode(one.degraded, type=list[str])
        degraded += one.count if causes else 0
        for cause in set(causes):
            lacking[cause] += one.count
    p50, p90, p99 = (percentile(times, share) / 1000 for share in _SHARES)
    return {
        "event": event,
        "decisions": times.total(),
        "p50_ms": p50,
        "p90_ms": p90,
        "p99_ms": p99,
        "degraded": degraded,
        "lacking": dict(sorted(lacking.items())),
    }


def percentile(times: Mapping[int, int], share: float) -> float:
    """Return a percentile (0 to 1) of the counted latencies, in microseconds: the nearest rank.

    The latencies are the minimums of their groups. The result is the middle of the group with the rank.
    """
    rank, seen = share * sum(times.values()), 0
    for us in sorted(times):
        seen += times[us]
        if seen >= rank:
            return us + (width_us(us) - 1) / 2
    return 0.0


# `GET /analytics/latency`: latency of decisions by hour or day, and failed hook calls.

router = APIRouter(tags=["analytics"])
LatenciesOf = Annotated[Latencies, Depends(of(Latencies))]
_COLUMNS = ("at", "event", "decisions", "p50_ms", "p90_ms", "p99_ms", "degraded")


class LatencyQuery(PeriodQuery):
    """The decisions to sum up, and the grouping."""

    by: LatencyBucket = "hour"
    event: Literal["", "PreToolUse", "UserPromptSubmit"] = ""
    user: Text = ""
    team: Text = ""


@router.get("/analytics/latency", dependencies=[EXPENSIVE], response_model=Shown[LatencyReport], responses=JSON_OR_CSV)
async def get_latency(
    caller: CallerOf, latencies: LatenciesOf, query: Annotated[LatencyQuery, Query()], as_table: AsTable
) -> LatencyReport | Response:
    """Sum up how long decisions took, and how many lacked something or failed. `Accept: text/csv` returns a table.

    A period is at most 31 days of hours or 366 days; without `since` it is the last day of hours or week of days. The
    owner of an undecided call is unknown, so `failures` are everybody's, and empty with a filter.
    """
    found = await latencies.summarize(caller.principal, query.by, **query.model_dump(exclude={"by"}))
    if as_table:
        table = [(one.at.isoformat(), *(getattr(one, name) for name in _COLUMNS[1:])) for one in found.items]
        return csv_response(_COLUMNS, table)
    return found
