"""How long decisions took, and how many were made without something or not at all, by hour or day."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time.time_buckets import start_of_bucket
from baton.people.row_scope import row_scope
from baton.records.analytics import hook_failures_store, latency_store
from baton.records.analytics.hook_failures_store import HookFailureCount
from baton.records.analytics.latency_store import LatencyBucket, LatencyCount, LatencyFilter
from baton.records.columns.times import width_us

__all__ = ["Latencies", "Latency", "LatencyBucket", "LatencyReport"]

USUAL: Mapping[LatencyBucket, timedelta] = {"hour": timedelta(days=1), "day": timedelta(days=7)}
"""The period of a request that names no start."""
LONGEST: Mapping[LatencyBucket, timedelta] = {"hour": timedelta(days=31), "day": timedelta(days=366)}
_SHARES = (0.5, 0.9, 0.99)


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions of one event: how many, the time within which so many of them were made, and what some lacked.

    Attributes:
        p50_ms: Within 5 % of the truth, in milliseconds, like the other two.
        degraded: Decisions that lacked anything.
        lacking: Decisions by what was unavailable; one may have lacked several things.
    """

    event: str
    decisions: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    degraded: int
    lacking: dict[str, int]


class BucketLatency(Latency, frozen=True, kw_only=True):
    """The decisions of one event in the hour or day that begins `at`."""

    at: datetime


class LatencyReport(msgspec.Struct, frozen=True, kw_only=True):
    """A period: each event as a whole, each bucket of it, and the hook calls that were answered without a decision."""

    since: datetime
    until: datetime
    events: list[Latency]
    items: list[BucketLatency]
    failures: list[HookFailureCount]


class Latencies:
    """Sums up how long decisions took."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(
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

        Nobody knows whose a call was that could not be decided, so `failures` are everybody's, and left out where a user or a
        team is asked for.

        Raises:
            Forbidden: If the role may not read analytics.
            Invalid: If the period is too long.
            StoreUnavailable: If the database is away or takes too long.
        """
        scope = row_scope(principal, "analytics.read")
        end = until or datetime.now(UTC)
        earliest = datetime.min.replace(tzinfo=UTC)
        start = since or (end - USUAL[by] if end - earliest > USUAL[by] else earliest)
        if end - start > LONGEST[by]:
            raise Invalid("since", f"is more than {LONGEST[by].days} days before the end of the period, by `{by}`")
        wanted = LatencyFilter(since=start, until=end, event=event, user=user, team=team)
        try:
            counts = await latency_store.find(self._database, principal.organisation, scope, wanted, by)
            failures = (
                []
                if event or user or team
                else await hook_failures_store.find(self._database, principal.organisation, start, end, by)
            )
        except DatabaseUnavailable:
            raise StoreUnavailable("latencies cannot be summed up now; try a shorter period, or later") from None
        in_order = sorted(counts, key=lambda one: (one.bucket, one.event))
        items = [
            BucketLatency(at=start_of_bucket(bucket, by), **_summed(event, list(of_it)))
            for (bucket, event), of_it in groupby(in_order, key=lambda one: (one.bucket, one.event))
        ]
        by_event = sorted(counts, key=lambda one: one.event)
        events = [
            Latency(**_summed(event, list(of_it))) for event, of_it in groupby(by_event, key=lambda one: one.event)
        ]
        return LatencyReport(since=start, until=end, events=events, items=items, failures=failures)


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
    """Return the time within which a share (0 to 1) of what is counted lies, in microseconds: the nearest rank.

    The times are the least ones of their groups; what is returned is the middle of the group that holds the rank.
    """
    rank, seen = share * sum(times.values()), 0
    for us in sorted(times):
        seen += times[us]
        if seen >= rank:
            return us + (width_us(us) - 1) / 2
    return 0.0
