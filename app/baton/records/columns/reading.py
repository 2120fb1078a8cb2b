"""Read the decisions of a period by column: days and hours that are kept so, and the rows of all other hours."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, String, Table, and_, cast, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.uuid7 import least_id, moment_of
from baton.records.columns.piece import Piece
from baton.records.columns.tables import COLUMNS, DAY_COLUMNS, SUMMED, SUMMED_DAYS
from baton.records.columns.times import rounded_us
from baton.records.pipeline.hours import DAY_HOURS, hour_of, start_of_hour
from baton.records.pipeline.tables import DECISIONS

NAMES = (
    "user", "team", "project", "session_id", "agent_id", "agent_type", "client", "event", "tool", "effect", "decision",
    "outcome", "revision", "overridden", "rules", "model_injected", "elapsed_us", "degraded", "routed_by", "role",
    "model_used", "started_agent", "input_tokens", "cached_tokens", "output_tokens",
)  # fmt: skip
"""The columns that are kept. `rules` and `degraded` are JSON texts, `elapsed_us` is rounded down (`times.rounded_us`)."""
_TEXTS = frozenset({"rules", "degraded"})
DAYS_AT_ONCE = 7
ROWS_AT_ONCE = 500
_NO_END = 2**31 - 1

Work = Callable[[Piece], None]
"""Counts the decisions of a piece. It runs in another thread, so that calls are decided meanwhile; one piece at a time."""
_Packed = dict[int, dict[str, bytes]]
"""The columns of pieces, by the number of the hour or the day."""


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


async def read(
    connection: AsyncConnection,
    organisation: str,
    names: Collection[str],
    period: Period,
    work: Work,
    *,
    by_hour: bool = False,
) -> None:
    """Do some work on the decisions of a period, each once; the hours that are not kept come last.

    Args:
        connection: The transaction to read in.
        organisation: Whose decisions.
        names: The columns that are needed, of `NAMES`, and `id` where ids are needed.
        period: Which decisions.
        work: What is done.
        by_hour: Whether no piece may be longer than an hour.
    """
    known: set[int] = set()
    first, last = period.hours
    kept_first, kept_last = await _span(connection, organisation, first, last)
    for start in range(kept_first // DAY_HOURS, kept_last // DAY_HOURS + 1, DAYS_AT_ONCE):
        days = start, min(start + DAYS_AT_ONCE - 1, kept_last // DAY_HOURS)
        of_days = {} if by_hour else await _kept_days(connection, organisation, names, days, (first, last))
        hours = max(days[0] * DAY_HOURS, kept_first), min((days[1] + 1) * DAY_HOURS - 1, kept_last)
        of_hours = await kept_hours(connection, organisation, names, hours, (first, last), of_days)
        await asyncio.to_thread(_work_on_kept, of_days, of_hours, period, work)
        known |= {hour for day in of_days for hour in range(day * DAY_HOURS, (day + 1) * DAY_HOURS)} | of_hours.keys()
    for gap_first, gap_last in _gaps(sorted(known), first, last):
        await of_rows(connection, organisation, names, _bounds(period, gap_first, gap_last), work)


def _work_on_kept(of_days: _Packed, of_hours: _Packed, period: Period, work: Work) -> None:
    first, last = period.hours
    pieces = [(day * DAY_HOURS, (day + 1) * DAY_HOURS - 1, packed) for day, packed in of_days.items()]
    pieces += [(hour, hour, packed) for hour, packed in of_hours.items()]
    for begin, end, packed in pieces:
        if packed:
            piece = Piece.unpack(begin, packed)
            work(piece if first < begin and end < last else piece.between(*period.ids))


async def of_rows(
    connection: AsyncConnection,
    organisation: str,
    names: Collection[str],
    where: Iterable[ColumnElement[bool]],
    work: Work,
) -> None:
    """Do some work on the rows that meet some conditions, by column, hour by hour."""
    named = [name for name in NAMES if name in names]
    columns = (cast(DECISIONS.c[name], String) if name in _TEXTS else DECISIONS.c[name] for name in named)
    query = select(DECISIONS.c.id, *columns).where(DECISIONS.c.organisation == organisation, *where)
    result = await connection.stream(query.order_by(DECISIONS.c.id).execution_options(yield_per=ROWS_AT_ONCE))
    of_hour: list[Sequence[Any]] = []
    hour = 0
    async for part in result.partitions():
        for next_hour, rows in groupby(part, key=lambda row: _hour_of_id(row[0])):
            if next_hour != hour and of_hour:
                await asyncio.to_thread(_work_on_rows, hour, named, of_hour, work)
                of_hour = []
            hour = next_hour
            of_hour += rows
    if of_hour:
        await asyncio.to_thread(_work_on_rows, hour, named, of_hour, work)


def _work_on_rows(hour: int, names: list[str], rows: list[Sequence[Any]], work: Work) -> None:
    ids, *values = zip(*rows, strict=True)
    columns: dict[str, Sequence[Any]] = dict(zip(names, values, strict=True))
    if times := columns.get("elapsed_us"):
        columns["elapsed_us"] = [rounded_us(us) for us in times]
    work(Piece.of_rows(hour, ids, columns))


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


async def _span(connection: AsyncConnection, organisation: str, first: int, last: int) -> tuple[int, int]:
    """Return the first and the last hour of these that is kept; the last is below the first if none is."""
    kept = select(func.min(SUMMED.c.hour), func.max(SUMMED.c.hour)).where(
        SUMMED.c.organisation == organisation, SUMMED.c.hour >= first, SUMMED.c.hour <= last, SUMMED.c.valid
    )
    found = (await connection.execute(kept)).one()
    return (0, -1) if found[0] is None else (found[0], found[1])


async def _kept_days(
    connection: AsyncConnection,
    organisation: str,
    names: Collection[str],
    days: tuple[int, int],
    edges: Collection[int],
) -> _Packed:
    """Return the columns of the days that are stored and have no stale hour."""
    day = (SUMMED.c.hour // DAY_HOURS).label("day")
    hours = SUMMED.c.hour.between(days[0] * DAY_HOURS, (days[1] + 1) * DAY_HOURS - 1)
    whole = select(day).where(SUMMED.c.organisation == organisation, hours, SUMMED.c.valid)
    whole = whole.group_by("day").having(func.count() == DAY_HOURS)
    of_day = and_(
        DAY_COLUMNS.c.organisation == organisation,
        DAY_COLUMNS.c.day == SUMMED_DAYS.c.day,
        _needed(DAY_COLUMNS, names, SUMMED_DAYS.c.day.in_({hour // DAY_HOURS for hour in edges})),
    )
    query = select(SUMMED_DAYS.c.day, DAY_COLUMNS.c.column, DAY_COLUMNS.c.data)
    query = query.outerjoin_from(SUMMED_DAYS, DAY_COLUMNS, of_day)
    query = query.where(SUMMED_DAYS.c.organisation == organisation, SUMMED_DAYS.c.valid, SUMMED_DAYS.c.day.in_(whole))
    return _packed(names, (await connection.execute(query)).all())


async def kept_hours(
    connection: AsyncConnection,
    organisation: str,
    names: Collection[str],
    hours: tuple[int, int],
    edges: Collection[int] = (),
    but_of_days: Collection[int] = (),
) -> _Packed:
    """Return the columns of the hours that are stored, but for those of some days.

    Which hours are valid is read in the same statement, as Postgres would show a later state to a second one.
    """
    if {hour // DAY_HOURS for hour in range(hours[0], hours[1] + 1)} <= set(but_of_days):
        return {}
    of_hour = and_(
        COLUMNS.c.organisation == organisation,
        COLUMNS.c.hour == SUMMED.c.hour,
        _needed(COLUMNS, names, SUMMED.c.hour.in_(edges)),
    )
    query = select(SUMMED.c.hour, COLUMNS.c.column, COLUMNS.c.data).outerjoin_from(SUMMED, COLUMNS, of_hour)
    query = query.where(SUMMED.c.organisation == organisation, SUMMED.c.hour.between(*hours), SUMMED.c.valid)
    if but_of_days:
        query = query.where((SUMMED.c.hour // DAY_HOURS).not_in(but_of_days))
    return _packed(names, (await connection.execute(query)).all())


def _needed(columns: Table, names: Collection[str], is_edge: ColumnElement[bool]) -> ColumnElement[bool]:
    # Ids are half of all bytes; a part of an hour or a day is found by them.
    return or_(columns.c.column.in_(names), and_(columns.c.column == "id", is_edge))


def _packed(names: Collection[str], rows: Iterable[Sequence[Any]]) -> _Packed:
    """Return rows by their pieces; one without decisions has no columns, and one without a column that is needed is left out."""
    found: _Packed = {}
    for number, name, data in rows:
        of_it = found.setdefault(number, {})
        if name is not None:
            of_it[name] = data
    return {number: packed for number, packed in found.items() if not packed or packed.keys() >= set(names)}


def _gaps(known: Iterable[int], first: int, last: int) -> list[tuple[int, int]]:
    """Return the runs of hours between the first and the last one that are not known."""
    found, begun = [], first
    for hour in known:
        if hour > begun:
            found.append((begun, min(hour - 1, last)))
        begun = max(begun, hour + 1)
    return [*found, (begun, last)] if begun <= last else found


def _bounds(period: Period, first: int, last: int) -> list[ColumnElement[bool]]:
    whole_first, whole_last = period.hours
    found = bounds_of(period)
    if first > whole_first:
        found.append(DECISIONS.c.id >= least_id(start_of_hour(first)))
    if last < whole_last:
        found.append(DECISIONS.c.id < least_id(start_of_hour(last + 1)))
    return found
