"""The database's clock, and transactions that write. It holds no table."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.sql import Database


async def now(connection: AsyncConnection) -> datetime:
    """Read the database's clock; SQLite has no other than this machine's."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    moment: datetime = (await connection.execute(select(func.clock_timestamp()))).scalar_one()
    return moment.astimezone(UTC)


@asynccontextmanager
async def writing(database: Database) -> AsyncIterator[AsyncConnection]:
    """Give a connection in a transaction that is going to write: on SQLite no other one writes meanwhile.

    Raises:
        DatabaseUnavailable: the database is away, locked or too slow.
    """
    async with database.transaction() as connection:
        if database.dialect == "sqlite":
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection
