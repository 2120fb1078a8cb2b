"""Read the decisions of a period by column: hours that are kept so, and the rows of all others."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, String, and_, cast, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.uuid7 import least_id, moment_of
from baton.records.columns.hour import HourColumns
from baton.records.columns.tables import COLUMNS, SUMMED
from baton.records.columns.times import rounded_us
from baton.records.pipeline.hours import hour_of, start_of_hour
from baton.records.pipeline.tables import DECISIONS

NAMES = (
    "user", "team", "project", "session_id", "agent_id", "agent_type", "client", "event", "tool", "effect", "decision",
    "outcome", "revision", "overridden", "rules", "model_injected", "elapsed_us", "degraded", "routed_by", "role",
    "model_used", "started_agent", "input_tokens", "cached_tokens", "output_tokens",
)  # fmt: skip
"""The columns that are kept. `rules` and `degraded` are JSON texts, `elapsed_us` is rounded down (`times.rounded_us`)."""
_TEXTS = frozenset({"rules", "degraded"})
HOURS_AT_ONCE = 168
ROWS_AT_ONCE = 500
LONGEST_STEP_S = 0.002
"""How long the event loop works on columns at a time, in seconds; calls are decided in between."""
_NO_END = 2**31 - 1


class Period(msgspec.Struct, frozen=True):
    """Which decisions are read: `since` is included, `until` is not; `newest` is the id of the last one, "" for no such bound."""

    since: datetime | None = None
    until: datetime | None = None
    newest: str = ""

    @property
    def hours(self) -> tuple[int, int]:
        """The first and the last hour, both included."""
        first = 0 if self.since is None else max(0, hour_of(self.since))
        last = _NO_END if self.until is None else hour_of(self.until)
        return first, min(last, hour_of(moment_of(self.newest))) if self.newest else last

    @property
    def ids(self) -> tuple[str, str, str]:
        """The smallest id, the id that all are below, and the largest one; "" means no bound."""
        since = "" if self.since is None else least_id(self.since)
        until = "" if self.until is None else least_id(self.until)
        return since, until, self.newest


async def hours(
    connection: AsyncConnection, organisation: str, names: Collection[str], period: Period
) -> AsyncIterator[HourColumns]:
    """Yield the decisions of a period hour by hour, each once; the hours that are not kept come last.

    Args:
        connection: The transaction to read in.
        organisation: Whose decisions.
        names: The columns that are needed, of `NAMES`, and `id` where ids are needed.
        period: Which decisions.
    """
    known: list[int] = []
    pace = _Pace()
    first, last = period.hours
    kept_first, kept_last = await _span(connection, organisation, first, last)
    for start in range(kept_first, kept_last + 1, HOURS_AT_ONCE):
        end = min(start + HOURS_AT_ONCE - 1, kept_last)
        found = await _kept(connection, organisation, names, start, end, edges=(first, last))
        for hour, packed in sorted(found.items()):
            if packed:
                columns = HourColumns.unpack(hour, packed)
                yield columns.between(*period.ids) if hour in {first, last} else columns
            known.append(hour)
            await pace.keep()
    for gap_first, gap_last in _gaps(known, first, last):
        bounds = _bounds(period, gap_first, gap_last)
        async for one in of_rows(connection, organisation, names, bounds):
            yield one
            await pace.keep()


async def of_rows(
    connection: AsyncConnection, organisation: str, names: Collection[str], where: Iterable[ColumnElement[bool]]
) -> AsyncIterator[HourColumns]:
    """Yield the rows that meet some conditions by column, hour by hour."""
    named = [name for name in NAMES if name in names]
    columns = (cast(DECISIONS.c[name], String) if name in _TEXTS else DECISIONS.c[name] for name in named)
    query = select(DECISIONS.c.id, *columns).where(DECISIONS.c.organisation == organisation, *where)
    result = await connection.stream(query.order_by(DECISIONS.c.id).execution_options(yield_per=ROWS_AT_ONCE))
    of_hour: list[Sequence[Any]] = []
    hour = 0
    async for part in result.partitions():
        for next_hour, rows in groupby(part, key=lambda row: _hour_of_id(row[0])):
            if next_hour != hour and of_hour:
                yield await asyncio.to_thread(_columns, hour, named, of_hour)
                of_hour = []
            hour = next_hour
            of_hour += rows
    if of_hour:
        yield await asyncio.to_thread(_columns, hour, named, of_hour)


def _columns(hour: int, names: list[str], rows: list[Sequence[Any]]) -> HourColumns:
    ids, *values = zip(*rows, strict=True)
    columns: dict[str, Sequence[Any]] = dict(zip(names, values, strict=True))
    if times := columns.get("elapsed_us"):
        columns["elapsed_us"] = [rounded_us(us) for us in times]
    return HourColumns.of_rows(hour, ids, columns)


def _hour_of_id(key: str) -> int:
    return int(key[:8] + key[9:13], 16) // 3_600_000


def bounds_of(period: Period) -> list[ColumnElement[bool]]:
    """Return the conditions on ids of a period."""
    since, until, newest = period.ids
    key = DECISIONS.c.id
    found: list[ColumnElement[bool]] = [key >= since] if since else []
    if until:
        found.append(key < until)
    if newest:
        found.append(key <= newest)
    return found


class _Pace:
    """Lets the event loop do other work from time to time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()

    async def keep(self) -> None:
        if self._loop.time() - self._began > LONGEST_STEP_S:
            await asyncio.sleep(0)
            self._began = self._loop.time()


async def _span(connection: AsyncConnection, organisation: str, first: int, last: int) -> tuple[int, int]:
    """Return the first and the last hour of these that is kept; the last is below the first if none is."""
    kept = select(func.min(SUMMED.c.hour), func.max(SUMMED.c.hour)).where(
        SUMMED.c.organisation == organisation, SUMMED.c.hour >= first, SUMMED.c.hour <= last, SUMMED.c.valid
    )
    found = (await connection.execute(kept)).one()
    return (0, -1) if found[0] is None else (found[0], found[1])


async def _kept(
    connection: AsyncConnection,
    organisation: str,
    names: Collection[str],
    first: int,
    last: int,
    edges: tuple[int, int],
) -> dict[int, dict[str, bytes]]:
    """Return the columns of the hours that are stored; an hour without decisions has no columns.

    Which hours are valid is read in the same statement, as Postgres would show a later state to a second one.
    """
    of_hour = and_(
        COLUMNS.c.organisation == organisation,
        COLUMNS.c.hour == SUMMED.c.hour,
        # Ids are half of all bytes; a part of an hour is found by them.
        or_(COLUMNS.c.column.in_(names), and_(COLUMNS.c.column == "id", SUMMED.c.hour.in_(edges))),
    )
    query = select(SUMMED.c.hour, COLUMNS.c.column, COLUMNS.c.data).outerjoin_from(SUMMED, COLUMNS, of_hour)
    query = query.where(SUMMED.c.organisation == organisation, SUMMED.c.hour.between(first, last), SUMMED.c.valid)
    found: dict[int, dict[str, bytes]] = {}
    for hour, name, data in (await connection.execute(query)).all():
        of_it = found.setdefault(hour, {})
        if name is not None:
            of_it[name] = data
    return {hour: packed for hour, packed in found.items() if not packed or packed.keys() >= set(names)}


def _gaps(known: Iterable[int], first: int, last: int) -> list[tuple[int, int]]:
    """Return the runs of hours between the first and the last one that are not known."""
    found, begun = [], first
    for hour in known:
        if hour > begun:
            found.append((begun, hour - 1))
        begun = hour + 1
    return [*found, (begun, last)] if begun <= last else found


def _bounds(period: Period, first: int, last: int) -> list[ColumnElement[bool]]:
    whole_first, whole_last = period.hours
    found = bounds_of(period)
    if first > whole_first:
        found.append(DECISIONS.c.id >= least_id(start_of_hour(first)))
    if last < whole_last:
        found.append(DECISIONS.c.id < least_id(start_of_hour(last + 1)))
    return found
