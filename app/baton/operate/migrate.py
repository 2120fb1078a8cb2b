"""Upgrades or downgrades the database's schema in this process. Most starts find it up to date, and skip alembic."""

import asyncio
import fcntl
import os.path
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, database_url
from baton.shared import packaged

_LOCK = 0x6261746F6E
"""Key of the Postgres advisory lock against simultaneous migrations ("baton" in ASCII)."""


async def upgrade(settings: Settings) -> None:
    """Upgrade the settings' database to the newest schema. A concurrent second process waits.

    Raises:
        DatabaseUnavailable: If the database is unavailable.
        ValueError: If the database belongs to a newer Baton.
    """
    await _run(settings, _upgrade)


async def downgrade(settings: Settings, revision: str) -> None:
    """Downgrade the settings' database to a revision; data of later revisions is lost.

    Raises:
        DatabaseUnavailable: If the database is unavailable.
        ValueError: If no revision before the database's own has this id.
    """
    from baton.operate import revisions  # noqa: PLC0415 - as in `_upgrade`

    await _run(settings, lambda sync: revisions.downgrade(sync, revision))


async def missing(settings: Settings) -> list[str]:
    """Describe each revision missing in the settings' database, oldest first, without changes.

    Raises:
        DatabaseUnavailable: If the database is unavailable.
        ValueError: If the database belongs to a newer Baton.
    """
    from baton.operate import revisions  # noqa: PLC0415 - as in `_upgrade`

    url = database_url(settings)
    if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):  # noqa: ASYNC240, PTH110 - a local file
        return revisions.lacking(None)  # connecting would create the file
    database = Database(settings)
    try:
        async with database.transaction() as connection:
            return await connection.run_sync(revisions.lacking)
    finally:
        await database.close()


def newest() -> str:
    """Return the newest revision of this version: file names start with the revision's number."""
    return max(path.name for path in (packaged.folder("alembic") / "versions").glob("[0-9]*.py")).partition("_")[0]


def _upgrade(connection: Connection) -> None:
    if _revision(connection) == newest():
        return
    from baton.operate import revisions  # noqa: PLC0415 - importing alembic is a twentieth of a server's start

    revisions.upgrade(connection)


def _revision(connection: Connection) -> str:
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return connection.scalar(text("SELECT version_num FROM alembic_version")) or ""


async def _run(settings: Settings, work: Callable[[Connection], None]) -> None:
    database = Database(settings)
    try:
        async with _alone(settings, database), database.transaction() as connection:
            if database.dialect == "sqlite":  # Python's driver starts no transaction before DDL
                await connection.exec_driver_sql("BEGIN IMMEDIATE")
            await connection.run_sync(work)
    finally:
        await database.close()


@asynccontextmanager
async def _alone(settings: Settings, database: Database) -> AsyncIterator[None]:
    """Prevent simultaneous migrations of this database by other processes."""
    if database.dialect == "sqlite":
        path = database_url(settings).database
        if not path or path == ":memory:":
            yield
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with Path(f"{path}.migrating").open("w") as lock:  # noqa: ASYNC230 - an empty local file
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
            yield
    else:
        # On a second connection, so the lock is held until the migration has committed; it ends with the connection.
        async with database.transaction() as connection:
            await connection.execute(text("SET LOCAL statement_timeout = 0"))
            await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield
