"""Counts decisions by time and group, from their columns, as far as a principal sees them."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from fastapi import APIRouter, Depends, Query, Response

from baton.kernel.base.clock import Bucket, period_of
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel
from baton.kernel.http.paging import JSON_OR_CSV, AsTable, csv_response
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.people.users import row_scope
from baton.records.columns.piece import Condition, Piece, in_scope, met
from baton.records.columns.reading import Period, bounds_of, of_rows, read
from baton.records.columns.tables import hits_in
from baton.records.pipeline.search import conditions_of, where_of
from baton.records.pipeline.store import Filters
from baton.records.review.decisions import DecisionFilter
from baton.records.review.decisions_api import DecisionFilters
from baton.rules.call.call import Principal

CountGroup = Literal["effect", "rule", "user", "client", "outcome", "project", "tool"]
MOST_GROUPS = 20
"""Groups that are counted by name, the most frequent ones; the rest is counted together."""
_SECONDS: Mapping[Bucket, int] = {"minute": 60, "hour": 3_600, "day": 86_400}


class CountRow(msgspec.Struct, frozen=True):
    """The number of a group's decisions in a bucket; `group` is None for all groups beyond the most frequent."""

    bucket: datetime
    group: str | None
    count: int


async def counts(
    database: Database, organisation: str, wanted: Filters, by: Bucket, group: CountGroup
) -> tuple[list[str], list[CountRow]]:
    """Return the names of the most frequent groups, the most frequent first, and the counts by bucket and group."""
    conditions = conditions_of(wanted)
    names = {"repeats", "rules" if group == "rule" else group, *conditions}
    if by == "minute":
        names.add("id")
    if wanted.scope.user:
        names |= {"user", "team"}
    period = Period(wanted.since, wanted.until)
    counted = _Counted(by, group, [*in_scope(wanted.scope), *conditions.values()])
    async with database.transaction() as connection:
        if wanted.session_id or wanted.q:
            # A session's rows are few, and found by an index; a text is found in rows alone.
            await of_rows(connection, organisation, names, [*bounds_of(*period.ids), *where_of(wanted)], counted.add)
        else:
            await read(connection, organisation, names, period, counted.add, by_hour=by != "day")
    return counted.most_frequent()


class _Counted:
    """Counts by bucket, as its number since 1970, and group."""

    def __init__(self, by: Bucket, group: CountGroup, conditions: list[Condition]) -> None:
        self._by: Bucket = by
        self._group = group
        self._conditions = conditions
        self._counts: Counter[tuple[int, str]] = Counter()

    def add(self, piece: Piece) -> None:
        """Count the decisions of a piece, no longer than a bucket of more than a minute."""
        mask = met(piece, self._conditions)
        if self._by != "minute":
            self._add(piece.hour * 3_600 // _SECONDS[self._by], piece, mask)
            return
        minutes = piece.minutes()
        for minute in np.unique(minutes[mask]).tolist():
            self._add(minute, piece, mask & (minutes == minute))

    def _add(self, bucket: int, piece: Piece, mask: Any) -> None:
        column = "rules" if self._group == "rule" else self._group
        for value, count in piece.counts(column, mask).items():
            if self._group == "rule":
                for rule in {hit.id for hit in hits_in(value)}:
                    self._counts[bucket, rule] += count
            elif value or self._group not in {"outcome", "project", "tool"}:
                self._counts[bucket, value] += count

    def most_frequent(self) -> tuple[list[str], list[CountRow]]:
        """Return the most frequent groups, and the counts of these and of the rest."""
        totals: Counter[str] = Counter()
        for (_, name), count in self._counts.items():
            totals[name] += count
        often = sorted(totals, key=lambda name: (-totals[name], name))[:MOST_GROUPS]
        named: Counter[tuple[int, str | None]] = Counter()
        for (bucket, name), count in self._counts.items():
            named[bucket, name if name in often else None] += count
        in_order = sorted(named.items(), key=lambda one: (one[0][0], one[0][1] is None, one[0][1] or ""))
        seconds = _SECONDS[self._by]
        rows = [
            CountRow(datetime.fromtimestamp(bucket * seconds, UTC), name, count) for (bucket, name), count in in_order
        ]
        return often, rows


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
            names, rows = await counts(self._database, principal.organisation, wanted, by, group)
        buckets = [_bucket(at, list(of_it)) for at, of_it in groupby(rows, key=lambda row: row.bucket)]
        return CountedDecisions(by=by, group=group, since=since, until=until, groups=names, items=buckets)


def _bucket(at: datetime, rows: list[CountRow]) -> BucketCounts:
    counts = {row.group: row.count for row in rows if row.group is not None}
    return BucketCounts(at, counts, sum(row.count for row in rows if row.group is None))


# `GET /decisions/counts`.

router = APIRouter(tags=["decisions"])
CountsOf = Annotated[DecisionCounts, Depends(of(DecisionCounts))]


class CountsQuery(DecisionFilters):
    """The decisions to count, and the grouping."""

    by: Bucket = "hour"
    group: CountGroup = "effect"


@router.get(
    "/decisions/counts",
    dependencies=[EXPENSIVE],
    response_model=Annotated[CountedDecisions, ApiModel("CountsModel")],
    responses=JSON_OR_CSV,
)
async def count_decisions(
    caller: CallerOf, counts: CountsOf, query: Annotated[CountsQuery, Query()], as_table: AsTable
) -> CountedDecisions | Response:
    """Count decisions by time and group; all filters given must hold.

    A period is at most a day of minutes, 31 days of hours or 366 days; without `since` it is the last hour, day or month.
    `Accept: text/csv` gives a table with a column for each group.
    """
    wanted = DecisionFilter(**query.model_dump(exclude={"by", "group"}))
    found = await counts.count(caller.principal, wanted, query.by, query.group)
    if as_table:
        rows = [
            (one.at.isoformat(), *(one.counts.get(name, 0) for name in found.groups), one.others) for one in found.items
        ]
        return csv_response(("at", *found.groups, "others"), rows)
    return found
