"""Reads the decisions of a period by column: stored days and hours, and the rows of all other hours."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, String, Table, and_, cast, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.records.columns.hours import DAY_HOURS, hour_of, start_of_hour
from baton.records.columns.piece import Piece
from baton.records.columns.tables import COLUMNS, DAY_COLUMNS, SUMMED, SUMMED_DAYS, rounded_us
from baton.records.tables import DECISIONS
from baton.shared.record_ids import least_id, moment_of

NAMES = (
    "user", "team", "project", "session_id", "agent_id", "agent_type", "client", "event", "tool", "effect", "decision",
    "outcome", "revision", "overridden", "rules", "model_injected", "elapsed_us", "degraded", "routed_by", "role",
    "model_used", "started_agent", "input_tokens", "cached_tokens", "output_tokens", "repeats",
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
    """A period of decisions: `since` is included, `until` is not; `newest` is the last id, "" for no such bound."""

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
        """The smallest id, the exclusive upper bound, and the largest id; "" means no bound."""
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
    """Process the decisions of a period, each once.

    Args:
        connection: The transaction to read in.
        organisation: The owner of the decisions.
        names: The needed columns, of `NAMES`, and `id` if ids are needed.
        period: The period.
        work: Processes one piece.
        by_hour: Whether no piece may be longer than an hour.
    """
    async for parts in weeks(connection, organisation, names, period, by_hour=by_hour):
        kept = [part for part in parts if isinstance(part, Kept)]
        await asyncio.to_thread(_work_on_kept, kept, period, work)
        for part in parts:
            if isinstance(part, Gap):
                await of_rows(connection, organisation, names, bounds_of(*part.ids(period)), work)


class Kept(NamedTuple):
    """A stored hour or day: its first and last hour, and its columns, none if it has no decisions."""

    first: int
    last: int
    packed: dict[str, bytes]

    @property
    def least(self) -> str:
        """The smallest id it can have."""
        return least_id(start_of_hour(self.first))

    def piece(self, period: Period) -> Piece:
        """Return its decisions of a period. At an end of the period, it needs the ids."""
        piece = Piece.unpack(self.first, self.packed)
        first, last = period.hours
        return piece if first < self.first and self.last < last else piece.between(*period.ids)


class Gap(NamedTuple):
    """Hours without stored columns, both included."""

    first: int
    last: int

    def ids(self, period: Period) -> tuple[str, str, str]:
        """Return the bounds of its ids within a period, like `Period.ids`."""
        least, below, newest = period.ids
        first, last = period.hours
        if self.first > first:
            least = least_id(start_of_hour(self.first))
        if self.last < last:
            below, newest = least_id(start_of_hour(self.last + 1)), ""
        return least, below, newest


async def with_ids(connection: AsyncConnection, organisation: str, names: Collection[str], part: Kept) -> Kept | Gap:
    """Read a stored hour or day again, with its ids. A gap if its columns were removed meanwhile."""
    hours, wanted = (part.first, part.last), {*names, "id"}
    if part.first == part.last:
        found = await kept_hours(connection, organisation, wanted, hours)
    else:
        found = await _kept_days(connection, organisation, wanted, (part.first // DAY_HOURS,) * 2, ())
    return part._replace(packed=found.popitem()[1]) if found else Gap(*hours)


def _work_on_kept(kept: Iterable[Kept], period: Period, work: Work) -> None:
    for part in kept:
        if part.packed:
            work(part.piece(period))


async def weeks(
    connection: AsyncConnection, organisation: str, names: Collection[str], period: Period, *, by_hour: bool = False
) -> AsyncIterator[list[Kept | Gap]]:
    """Yield the stored days and hours of each week and the gaps between, in order; the latest week comes first."""
    first, last = period.hours
    kept_first, kept_last = await _span(connection, organisation, first, last)
    if kept_last < last:
        yield [Gap(max(first, kept_last + 1), last)]
    for start in range(kept_first // DAY_HOURS, kept_last // DAY_HOURS + 1, DAYS_AT_ONCE)[::-1]:
        days = start, min(start + DAYS_AT_ONCE - 1, kept_last // DAY_HOURS)
        of_days = {} if by_hour else await _kept_days(connection, organisation, names, days, (first, last))
        hours = max(days[0] * DAY_HOURS, kept_first), min((days[1] + 1) * DAY_HOURS - 1, kept_last)
        of_hours = await kept_hours(connection, organisation, names, hours, (first, last), of_days)
        kept = [Kept(day * DAY_HOURS, (day + 1) * DAY_HOURS - 1, packed) for day, packed in of_days.items()]
        kept += [Kept(hour, hour, packed) for hour, packed in of_hours.items()]
        yield sorted([*kept, *_gaps(sorted(kept), *hours)])
    if first < kept_first:
        yield [Gap(first, kept_first - 1)]


async def of_rows(
    connection: AsyncConnection,
    organisation: str,
    names: Collection[str],
    where: Iterable[ColumnElement[bool]],
    work: Work,
) -> None:
    """Process the rows meeting some conditions, by column, hour by hour."""
    named = [name for name in NAMES if name in names]
    query = select(DECISIONS.c.id, *map(column_of, named)).where(DECISIONS.c.organisation == organisation, *where)
    result = await connection.stream(query.order_by(DECISIONS.c.id).execution_options(yield_per=ROWS_AT_ONCE))
    of_hour: list[Sequence[Any]] = []
    hour = 0
    async for part in result.partitions():
        for next_hour, rows in groupby(part, key=lambda row: int(row[0][:8] + row[0][9:13], 16) // 3_600_000):
            if next_hour != hour and of_hour:
                await asyncio.to_thread(_work_on_rows, hour, named, of_hour, work)
                of_hour = []
            hour = next_hour
            of_hour += rows
    if of_hour:
        await asyncio.to_thread(_work_on_rows, hour, named, of_hour, work)


def column_of(name: str) -> ColumnElement[Any]:
    """Return a column of rows as the columns of hours have it."""
    return cast(DECISIONS.c[name], String) if name in _TEXTS else DECISIONS.c[name]


def _work_on_rows(hour: int, names: list[str], rows: list[Sequence[Any]], work: Work) -> None:
    ids, *values = zip(*rows, strict=True)
    columns: dict[str, Sequence[Any]] = dict(zip(names, values, strict=True))
    if times := columns.get("elapsed_us"):
        columns["elapsed_us"] = [rounded_us(us) for us in times]
    work(Piece.of_rows(hour, ids, columns))


def bounds_of(least: str, below: str, newest: str) -> list[ColumnElement[bool]]:
    """Return the conditions of `Period.ids`: one for each end, since SQLite searches by any of several."""
    key = DECISIONS.c.id
    found: list[ColumnElement[bool]] = [key >= least] if least else []
    if newest and not (below and below <= newest):
        found.append(key <= newest)
    elif below:
        found.append(key < below)
    return found


async def _span(connection: AsyncConnection, organisation: str, first: int, last: int) -> tuple[int, int]:
    """Return the first and the last stored hour of these. The last is below the first if none is stored."""
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
    """Return the columns of the stored days without a stale hour."""
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
    """Return the columns of the stored hours, except those of some days.

    The validity of hours is read in the same statement, as Postgres would show a later state to a second one.
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
    """Return rows by their pieces. One without decisions has no columns; one lacking a needed column is left out."""
    found: _Packed = {}
    for number, name, data in rows:
        of_it = found.setdefault(number, {})
        if name is not None:
            of_it[name] = data
    return {number: packed for number, packed in found.items() if not packed or packed.keys() >= set(names)}


def _gaps(kept: Iterable[Kept], first: int, last: int) -> list[Gap]:
    found, begun = [], first
    for one in kept:
        if one.first > begun:
            found.append(Gap(begun, one.first - 1))
        begun = max(begun, one.last + 1)
    return [*found, Gap(begun, last)] if begun <= last else found
