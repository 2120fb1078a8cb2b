"""Count decisions by time and group, from their columns."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import numpy as np

from baton.kernel.base.clock import Bucket
from baton.kernel.base.sql import Database
from baton.records.columns.piece import Condition, Piece, in_scope, met
from baton.records.columns.reading import Period, bounds_of, of_rows, read
from baton.records.columns.tables import hits_in
from baton.records.pipeline.search import conditions_of, where_of
from baton.records.pipeline.store import Filters

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
