"""Keep the decisions of each hour that has ended by column, and write them anew when something of it has changed."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable, insert_into
from baton.kernel.base.uuid7 import least_id, moment_of
from baton.kernel.changes import leadership
from baton.records.columns.reading import NAMES, of_rows
from baton.records.columns.tables import COLUMNS, SUMMED
from baton.records.pipeline.hours import SETTLED_S, hour_of, start_of_hour
from baton.records.pipeline.tables import DECISIONS

WORK = "sums"
PERIOD = timedelta(minutes=1)
"""How often one server of all looks for hours to write."""
LONGEST_S = 45.0
"""How long one run may take, in seconds: its leadership must not expire during it."""
LEAST_PAUSE_S = 0.01


class ColumnWriter:
    """Keeps the columns of each hour, so that analytics read few bytes of a long period."""

    def __init__(
        self, database: Database, organisation: str, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._database = database
        self._organisation = organisation
        self._now = now

    async def run(self, stop: asyncio.Event) -> None:
        """Write hours until `stop` is set, in the one server that leads this work."""
        while not stop.is_set():
            with contextlib.suppress(DatabaseUnavailable):
                if await leadership.take(self._database, self._organisation, WORK, self._now(), PERIOD):
                    await self.catch_up(stop)
            await pause(stop, PERIOD.total_seconds())

    async def catch_up(self, stop: asyncio.Event) -> int:
        """Write the hours that are missing or stale, the latest first; return how many were.

        Raises:
            DatabaseUnavailable: If the database is away.
        """
        loop = asyncio.get_running_loop()
        begun, done = loop.time(), 0
        for hour in await self.missing():
            started = loop.time()
            if stop.is_set() or started - begun > LONGEST_S:
                break
            await self.write_hour(hour)
            done += 1
            # At most half of the time, so that decisions are stored in between.
            await pause(stop, max(LEAST_PAUSE_S, loop.time() - started))
        return done

    async def write_hour(self, hour: int) -> None:
        """Write one hour, in place of its old columns. Raise DatabaseUnavailable."""
        async with self._database.transaction() as connection:
            await write_hour(connection, self._organisation, hour)

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

    async def _forget(self, first: int) -> None:
        async with self._database.transaction() as connection:
            for table in (SUMMED, COLUMNS):
                await connection.execute(
                    delete(table).where(table.c.organisation == self._organisation, table.c.hour < first)
                )


async def write_hour(connection: AsyncConnection, organisation: str, hour: int) -> None:
    """Write the columns of one hour, in place of its old ones."""
    key = {"organisation": organisation, "hour": hour}
    # First, because it waits for those who change rows of this hour now, and they for this: `marks_of_stale`.
    valid = insert_into(connection.dialect.name, SUMMED).values(**key, valid=True)
    await connection.execute(valid.on_conflict_do_update(index_elements=["organisation", "hour"], set_={"valid": True}))
    await connection.execute(delete(COLUMNS).where(COLUMNS.c.organisation == organisation, COLUMNS.c.hour == hour))
    of_hour = (DECISIONS.c.id >= least_id(start_of_hour(hour)), DECISIONS.c.id < least_id(start_of_hour(hour + 1)))
    async for columns in of_rows(connection, organisation, NAMES, of_hour):
        rows = [key | {"column": name, "data": data} for name, data in columns.pack().items()]
        await connection.execute(insert(COLUMNS), rows)
