"""Stores the decisions of each ended hour and day by column, and rewrites them after changes."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, upsert
from baton.records.columns.hours import DAY_HOURS, SETTLED_S, hour_of, start_of_hour
from baton.records.columns.piece import Piece
from baton.records.columns.reading import NAMES, kept_hours, of_rows
from baton.records.columns.tables import COLUMNS, DAY_COLUMNS, SUMMED, SUMMED_DAYS
from baton.records.tables import DECISIONS
from baton.shared.record_ids import least_id, moment_of

LONGEST_S = 45.0
"""How long one run may take, in seconds: its leadership must not expire during it."""
LEAST_PAUSE_S = 0.01


class ColumnWriter:
    """Stores the columns of each hour, so that analytics read few bytes of a long period."""

    def __init__(
        self, database: Database, organisation: str, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._database = database
        self._organisation = organisation
        self._now = now

    async def catch_up(self, stop: asyncio.Event) -> int:
        """Write the missing or stale hours, then days, the latest first. Return the number of hours.

        Raises:
            DatabaseUnavailable: If the database is unavailable.
        """
        ends = asyncio.get_running_loop().time() + LONGEST_S
        hours = await self._write(await self.missing(), self.write_hour, ends, stop)
        await self._write(await self.missing_days(), self.write_day, ends, stop)
        return hours

    async def _write(
        self, numbers: Collection[int], write: Callable[[int], Awaitable[None]], ends: float, stop: asyncio.Event
    ) -> int:
        loop, done = asyncio.get_running_loop(), 0
        for number in numbers:
            started = loop.time()
            if stop.is_set() or started > ends:
                break
            await write(number)
            done += 1
            # At most half of the time, so that decisions are stored in between.
            await pause(stop, max(LEAST_PAUSE_S, loop.time() - started))
        return done

    async def write_hour(self, hour: int) -> None:
        """Write one hour, in place of its old columns. Raise DatabaseUnavailable."""
        async with self._database.transaction() as connection:
            await write_hour(connection, self._organisation, hour)

    async def write_day(self, day: int) -> None:
        """Write one day, in place of its old columns, unless one of its hours is stale. Raise DatabaseUnavailable."""
        async with self._database.transaction() as connection:
            await write_day(connection, self._organisation, day)

    async def missing(self) -> list[int]:
        """Return the hours without valid columns between the first decision and now; forget those before."""
        oldest = select(func.min(DECISIONS.c.id)).where(DECISIONS.c.organisation == self._organisation)
        known = select(SUMMED.c.hour, SUMMED.c.valid).where(SUMMED.c.organisation == self._organisation)
        last = hour_of(self._now() - timedelta(seconds=SETTLED_S)) - 1
        async with self._database.transaction() as connection:
            first_id = (await connection.execute(oldest)).scalar()
            kept = {row.hour: row.valid for row in await connection.execute(known)}
        first = last + 1 if first_id is None else hour_of(moment_of(first_id))
        if any(hour < first for hour in kept):
            await self._forget(first)
        return [hour for hour in range(last, first - 1, -1) if not kept.get(hour)]

    async def missing_days(self) -> list[int]:
        """Return the invalid days with all their hours valid."""
        hours = select(SUMMED.c.hour).where(SUMMED.c.organisation == self._organisation, SUMMED.c.valid)
        days = select(SUMMED_DAYS.c.day).where(SUMMED_DAYS.c.organisation == self._organisation, SUMMED_DAYS.c.valid)
        async with self._database.transaction() as connection:
            valid = Counter(hour // DAY_HOURS for hour in (await connection.execute(hours)).scalars())
            written = set((await connection.execute(days)).scalars())
        return sorted((day for day, hours in valid.items() if hours == DAY_HOURS and day not in written), reverse=True)

    async def _forget(self, first: int) -> None:
        oldest = {"hour": first, "day": -(-first // DAY_HOURS)}
        async with self._database.transaction() as connection:
            for table, unit in ((SUMMED, "hour"), (COLUMNS, "hour"), (SUMMED_DAYS, "day"), (DAY_COLUMNS, "day")):
                of_ours = table.c.organisation == self._organisation
                await connection.execute(delete(table).where(of_ours, table.c[unit] < oldest[unit]))


async def write_hour(connection: AsyncConnection, organisation: str, hour: int) -> None:
    """Write the columns of one hour, in place of its old ones; its day is to be written again."""
    key = {"organisation": organisation, "hour": hour}
    # First, because it and writers of this hour's rows wait for each other: `marks_of_stale`.
    await upsert(connection, SUMMED, key | {"valid": True})
    await forget_days(connection, [(organisation, hour // DAY_HOURS)])
    await connection.execute(delete(COLUMNS).where(COLUMNS.c.organisation == organisation, COLUMNS.c.hour == hour))
    of_hour = (DECISIONS.c.id >= least_id(start_of_hour(hour)), DECISIONS.c.id < least_id(start_of_hour(hour + 1)))
    packed: list[dict[str, bytes]] = []
    await of_rows(connection, organisation, NAMES, of_hour, lambda piece: packed.append(piece.pack()))
    for columns in packed:
        rows = [key | {"column": name, "data": data} for name, data in columns.items()]
        await connection.execute(insert(COLUMNS), rows)


async def write_day(connection: AsyncConnection, organisation: str, day: int) -> None:
    """Write the columns of one day from those of its hours, unless one of them is stale."""
    # First, because it and writers or deleters of the day's hours wait for each other here.
    await forget_days(connection, [(organisation, day)])
    hours = day * DAY_HOURS, (day + 1) * DAY_HOURS - 1
    kept = await kept_hours(connection, organisation, [*NAMES, "id"], hours)
    if len(kept) < DAY_HOURS:
        return
    key = {"organisation": organisation, "day": day}
    if packed := {hour: columns for hour, columns in kept.items() if columns}:
        merged = await asyncio.to_thread(_merged, packed)
        await connection.execute(
            insert(DAY_COLUMNS), [key | {"column": name, "data": data} for name, data in merged.items()]
        )
    of_day = (SUMMED_DAYS.c.organisation == organisation, SUMMED_DAYS.c.day == day)
    await connection.execute(update(SUMMED_DAYS).where(*of_day).values(valid=True))


def _merged(packed: dict[int, dict[str, bytes]]) -> dict[str, bytes]:
    first, *later = (Piece.unpack(hour, columns) for hour, columns in sorted(packed.items()))
    return first.joined(later).pack()


async def forget_days(connection: AsyncConnection, days: Iterable[tuple[str, int]]) -> None:
    """Remove the columns of days, each with its organisation, until they are written again.

    It waits for a server writing one of them now.
    """
    for organisation, day in sorted(set(days)):
        key = {"organisation": organisation, "day": day}
        await upsert(connection, SUMMED_DAYS, key | {"valid": False})
        of_day = (DAY_COLUMNS.c.organisation == organisation, DAY_COLUMNS.c.day == day)
        await connection.execute(delete(DAY_COLUMNS).where(*of_day))
