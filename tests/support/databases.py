"""Databases shared by tests one after the other, each time empty.

An engine compiles each statement once, slower than SQLite runs it: so tests get the same engine for the same address,
and a new file at the address.
"""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from functools import cache
from pathlib import Path

import asyncpg

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.operate import tables


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """Give the database at an address, and close its connections at the end."""
    database = copy(_database(url))  # with the same engine; locks that belong to a loop are kept by database
    yield database
    await database.close()


@cache
def _database(url: str) -> Database:
    return Database(Settings(database_url=url))


def fresh_file(template: Path, folder: Path) -> str:
    """Lay a copy of a SQLite file into a folder, in the place of the last one; return its URL."""
    path = folder / "baton.db"
    for old in folder.glob("baton.db*"):  # whoever has one still open keeps it
        old.unlink()
    shutil.copy(template, path)
    return f"sqlite:///{path}"


async def empty_postgres(url: str) -> None:
    """Delete the rows of all tables."""
    connection = await asyncpg.connect(url)
    try:
        emptied = "; ".join(f'DELETE FROM "{table.name}"' for table in tables.ALL)  # noqa: S608 - our own names
        await connection.execute(f"SET lock_timeout = '30s'; SET session_replication_role = replica; {emptied}")
    finally:
        await connection.close()
