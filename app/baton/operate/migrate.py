"""Upgrades or downgrades the database's schema in this process. Most starts find it up to date, and import no alembic."""

import asyncio
import fcntl
import os.path
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable, database_url
from baton.shared import packaged

_LOCK = 0x6261746F6E
"""Key of the Postgres advisory lock that keeps two servers from migrating at once ("baton" in ASCII)."""


async def upgrade(settings: Settings) -> None:
    """Upgrade the settings' database to the newest schema. A second process that does the same waits.

    Raises:
        DatabaseUnavailable: If the database cannot be reached.
        ValueError: If the database belongs to a newer Baton.
    """
    await _run(settings, _upgrade)


async def downgrade(settings: Settings, revision: str) -> None:
    """Downgrade the settings' database to a revision; data that only later revisions hold is lost.

    Raises:
        DatabaseUnavailable: If the database cannot be reached.
        ValueError: If there is no such revision before the database's own.
    """
    from baton.operate import revisions  # noqa: PLC0415 - as in `_upgrade`

    await _run(settings, lambda sync: revisions.downgrade(sync, revision))


async def missing(settings: Settings) -> list[str]:
    """Describe each revision that the settings' database lacks, the oldest first. Nothing is changed.

    Raises:
        DatabaseUnavailable: If the database cannot be reached.
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
    """Return the newest revision of this version: revisions are numbered, and a file's name begins with its number."""
    return max(path.name for path in (packaged.folder("alembic") / "versions").glob("[0-9]*.py")).partition("_")[0]


def _upgrade(connection: Connection) -> None:
    if _revision(connection) == newest():
        return
    from baton.operate import revisions  # noqa: PLC0415 - importing alembic is a twentieth of a server's start

    revisions.upgrade(connection)


def _revision(connection: Connection) -> str:
    """Return the revision that the database is at, "" where it has no schema yet."""
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
    except DatabaseUnavailable as error:
        raise DatabaseUnavailable(f"the database `{database_url(settings)!r}` cannot be used: {error}") from None
    finally:
        await database.close()


@asynccontextmanager
async def _alone(settings: Settings, database: Database) -> AsyncIterator[None]:
    """Keep other processes from migrating this database at the same time."""
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
        # On a second connection, so that the lock is held until the migration has committed; it ends with the connection.
        async with database.transaction() as connection:
            await connection.execute(text("SET LOCAL statement_timeout = 0"))
            await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield
