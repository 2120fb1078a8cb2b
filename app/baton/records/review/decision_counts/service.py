"""Counts the decisions visible to a principal, by time and group."""

from datetime import datetime, timedelta
from itertools import groupby

import msgspec

from baton.kernel.base.clock import Bucket, period_of
from baton.kernel.base.sql import Database, StoreErrors
from baton.people.users import row_scope
from baton.records.pipeline.store import Filters
from baton.records.review.decision_counts import store
from baton.records.review.decision_counts.store import CountGroup
from baton.rules.call.call import Principal

__all__ = ["Bucket", "CountGroup", "DecisionCounts"]

LONGEST = {"minute": timedelta(days=1), "hour": timedelta(days=31), "day": timedelta(days=366)}
"""Longest period: about as many buckets as a chart can show."""
USUAL = {"minute": timedelta(hours=1), "hour": timedelta(days=1), "day": timedelta(days=30)}
"""The period of a request that names no start."""


class BucketCounts(msgspec.Struct, frozen=True):
    """The decisions of one minute, hour or day (UTC) starting `at`; one without any is left out.

    `others` are those of all groups beyond the most frequent.
    """

    at: datetime
    counts: dict[str, int]
    others: int


class CountedDecisions(msgspec.Struct, frozen=True, kw_only=True):
    """Counts by time and group; `items` are the nonempty buckets, oldest first.

    `groups` are the 20 most frequent ones, the most frequent first; all other decisions are counted in `others`. By
    `rule`, a decision counts once for each matched rule. A refusal by the rate limit counts with its `repeats`.
    """

    by: Bucket
    group: CountGroup
    since: datetime
    until: datetime
    groups: list[str]
    items: list[BucketCounts]


class DecisionCounts:
    """Counts decisions for charts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self, principal: Principal, wanted: Filters, by: Bucket, group: CountGroup) -> CountedDecisions:
        """Return the counts of a period.

        Raises:
            Forbidden: If the role may not.
            Invalid: If the period is too long for its buckets.
            StoreUnavailable: If the database is unavailable or takes too long.
        """
        scope = row_scope(principal, "decisions.read")
        since, until = period_of(wanted.since, wanted.until, USUAL[by], LONGEST[by], by)
        wanted = msgspec.structs.replace(wanted, scope=scope, since=since, until=until)
        with StoreErrors("decisions cannot be counted now; try a shorter period, or later"):
            names, rows = await store.counts(self._database, principal.organisation, wanted, by, group)
        buckets = [_bucket(at, list(of_it)) for at, of_it in groupby(rows, key=lambda row: row.bucket)]
        return CountedDecisions(by=by, group=group, since=since, until=until, groups=names, items=buckets)


def _bucket(at: datetime, rows: list[store.CountRow]) -> BucketCounts:
    counts = {row.group: row.count for row in rows if row.group is not None}
    return BucketCounts(at, counts, sum(row.count for row in rows if row.group is None))
