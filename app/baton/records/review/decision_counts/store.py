"""Count decisions by time and group, from their columns."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import numpy as np

from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.time.time_buckets import Bucket
from baton.records.columns.piece import Condition, Piece, in_scope, is_equal, met
from baton.records.columns.reading import Period, of_rows, read
from baton.records.columns.rule_hits import hits_in
from baton.records.pipeline.search import as_stored, conditions_of
from baton.records.pipeline.store import Filters
from baton.records.pipeline.tables import HIT_EFFECTS

CountGroup = Literal["effect", "rule", "user", "client", "outcome"]
MOST_GROUPS = 20
"""Groups that are counted by name, the most frequent ones; the rest is counted together."""
_SECONDS: Mapping[Bucket, int] = {"minute": 60, "hour": 3_600, "day": 86_400}
_EQUAL = (
    "user", "session_id", "agent_id", "agent_type", "client", "event", "tool", "effect", "decision", "outcome", "project",
    "revision",
)  # fmt: skip
"""The filters that ask for an equal value of a column."""


class CountRow(msgspec.Struct, frozen=True):
    """How many decisions of a group were made in a bucket; `group` is None for all groups beyond the most frequent."""

    bucket: datetime
    group: str | None
    count: int


async def counts(
    database: Database, organisation: str, wanted: Filters, by: Bucket, group: CountGroup
) -> tuple[list[str], list[CountRow]]:
    """Return the names of the most frequent groups, the most frequent first, and the counts by bucket and group."""
    conditions = _conditions(wanted)
    names = {"rules" if group == "rule" else group, *conditions}
    if by == "minute":
        names.add("id")
    if wanted.scope.user:
        names |= {"user", "team"}
    period = Period(wanted.since, wanted.until)
    counted = _Counted(by, group, [*in_scope(wanted.scope), *conditions.values()])
    async with database.transaction() as connection:
        if wanted.session_id or wanted.q:
            # A session's rows are few, and found by an index; a text is found in rows alone.
            await of_rows(connection, organisation, names, conditions_of(wanted), counted.add)
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
        """Count the decisions of a piece, which is not longer than a bucket of more than a minute."""
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
            elif value or self._group != "outcome":
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


def _conditions(wanted: Filters) -> dict[str, Condition]:
    """Return the filters besides scope, time and text, each by the column that it needs."""
    found: dict[str, list[Condition]] = {}
    for name in _EQUAL:
        value = getattr(wanted, name)
        if value and not (name == "effect" and value in HIT_EFFECTS):
            found[name] = [is_equal(name, as_stored(name, value))]
    if wanted.overridden is not None:
        found["overridden"] = [is_equal("overridden", wanted.overridden)]
    if wanted.rule:
        found["rules"] = [_hit(lambda hit: hit.id == storable(wanted.rule))]
    if wanted.effect in HIT_EFFECTS:
        found.setdefault("rules", []).append(_hit(lambda hit: hit.effect == wanted.effect))
    return {name: _all(some) for name, some in found.items()}


def _hit(meets: Callable[[Any], bool]) -> Condition:
    return lambda piece: piece.where("rules", lambda rules: any(map(meets, hits_in(rules))))


def _all(conditions: list[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else lambda piece: met(piece, conditions)
