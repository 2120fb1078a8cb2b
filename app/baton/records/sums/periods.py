"""Which part of a period is read from kept sums, and which from the rows of decisions."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.uuid7 import least_id, moment_of
from baton.records.pipeline.hours import hour_of, start_of_hour
from baton.records.pipeline.tables import DECISIONS
from baton.records.sums.tables import SUMMED

MOST_RUNS = 50
"""Runs of summed hours that a query reads, the longest; few hours are stale at a time."""
_NO_END = 2**31 - 1

Bounds = list[ColumnElement[bool]]


class Parts(NamedTuple):
    """A period in parts: runs of hours, both ends included, and conditions on ids for all that lies between."""

    hours: list[tuple[int, int]]
    rows: list[Bounds]

    def of_sums(self, table: Table) -> list[Bounds]:
        """Return the conditions on a table of sums, one run each."""
        return [[table.c.hour >= first, table.c.hour <= last] for first, last in self.hours]


async def parts(
    connection: AsyncConnection, organisation: str, since: datetime | None, until: datetime | None, newest: str = ""
) -> Parts:
    """Split a period: `since` is included, `until` is not.

    Args:
        connection: The transaction in which the parts are read, too.
        organisation: Whose decisions.
        since: None for all from the first one on.
        until: None for all up to now.
        newest: The id of the last decision that belongs to it, "" for no such bound.
    """
    start = 0 if since is None else -int(-since.timestamp() // 3600)
    end = _NO_END if until is None else hour_of(until)
    if newest:
        end = min(end, hour_of(moment_of(newest)))
    whole = select(SUMMED.c.hour).where(
        SUMMED.c.organisation == organisation, SUMMED.c.hour >= start, SUMMED.c.hour < end, SUMMED.c.valid
    )
    hours = _runs((await connection.execute(whole.order_by(SUMMED.c.hour))).scalars())
    key = DECISIONS.c.id
    last: Bounds = [] if until is None else [key < least_id(until)]
    if newest:
        last.append(key <= newest)
    rows, begun = [], [] if since is None else [key >= least_id(since)]
    for first, final in hours:
        rows.append([*begun, key < least_id(start_of_hour(first))])
        begun = [key >= least_id(start_of_hour(final + 1))]
    return Parts(hours, [*rows, [*begun, *last]])


def _runs(hours: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for hour in hours:
        if runs and runs[-1][1] == hour - 1:
            runs[-1] = (runs[-1][0], hour)
        else:
            runs.append((hour, hour))
    longest = sorted(runs, key=lambda run: run[0] - run[1])[:MOST_RUNS]
    return sorted(longest)
