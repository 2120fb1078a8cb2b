"""The database's clock, and transactions that write."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.driver import PATIENCE_S
from baton.kernel.base.sql import Database

_turns: WeakKeyDictionary[Database, asyncio.Lock] = WeakKeyDictionary()
"""Whose turn it is to write within this process: SQLite itself lets writers wait in no order."""


async def now(connection: AsyncConnection) -> datetime:
    """Read the database's clock; SQLite has no other than this machine's."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    moment: datetime = (await connection.execute(select(func.clock_timestamp()))).scalar_one()
    return moment.astimezone(UTC)


@asynccontextmanager
async def writing(database: Database) -> AsyncIterator[AsyncConnection]:
    """Open a transaction that is going to write, and yield its connection: on SQLite no other one writes meanwhile.

    Within it, no other one may be begun.

    Raises:
        DatabaseUnavailable: The database is away, locked or too slow.
    """
    if database.dialect != "sqlite":
        async with database.transaction() as connection:
            yield connection
        return
    async with _turns.setdefault(database, asyncio.Lock()), database.transaction() as connection:
        await _begin(connection)
        yield connection


async def _begin(connection: AsyncConnection) -> None:
    """Begin, waiting for writers of other processes."""
    ends = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        try:
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
        except OperationalError:
            if asyncio.get_running_loop().time() >= ends:
                raise
        else:
            return
