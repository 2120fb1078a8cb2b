"""Upgrades or downgrades the database's schema with alembic, in this process."""

import asyncio
import fcntl
import os.path
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util.exc import CommandError
from sqlalchemy import Connection, text

from alembic import command
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable, database_url
from baton.shared import packaged

_LOCK = 0x6261746F6E
"""Key of the Postgres advisory lock that keeps two servers from migrating at once ("baton" in ASCII)."""


def config(connection: Connection | None = None) -> Config:
    """Build alembic's configuration; with a connection, alembic runs on it."""
    made = Config(attributes={"connection": connection})
    made.set_main_option("script_location", str(packaged.folder("alembic")).replace("%", "%%"))
    return made


async def upgrade(settings: Settings) -> None:
    """Upgrade the settings' database to the newest schema. A second process that does the same waits.

    Raises:
        DatabaseUnavailable: If the database cannot be reached.
        ValueError: If the database belongs to a newer Baton.
    """
    await _run(settings, lambda sync: command.upgrade(config(sync), "head"))


async def downgrade(settings: Settings, revision: str) -> None:
    """Downgrade the settings' database to a revision; data that only later revisions hold is lost.

    Raises:
        DatabaseUnavailable: If the database cannot be reached.
        ValueError: If there is no such revision before the database's own.
    """
    await _run(settings, lambda sync: command.downgrade(config(sync), revision))


async def missing(settings: Settings) -> list[str]:
    """Describe each revision that the settings' database lacks, the oldest first. Nothing is changed.

    Raises:
        DatabaseUnavailable: If the database cannot be reached.
        ValueError: If the database belongs to a newer Baton.
    """
    url = database_url(settings)
    if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):  # noqa: ASYNC240, PTH110 - a local file
        return _lacking(None)  # connecting would create the file
    database = Database(settings)
    try:
        async with database.transaction() as connection:
            return _lacking(await connection.run_sync(lambda c: MigrationContext.configure(c).get_current_revision()))
    finally:
        await database.close()


def _lacking(current: str | None) -> list[str]:
    known = ScriptDirectory.from_config(config())
    try:
        found = list(known.iterate_revisions("head", current or "base"))
    except (CommandError, RevisionError) as error:
        raise ValueError(_unknown(error)) from None
    return [f"{one.revision}: {one.doc}" for one in reversed(found)]


async def _run(settings: Settings, work: Callable[[Connection], None]) -> None:
    database = Database(settings)
    try:
        async with _alone(settings, database), database.transaction() as connection:
            if database.dialect == "sqlite":  # Python's driver starts no transaction before DDL
                await connection.exec_driver_sql("BEGIN IMMEDIATE")
            await connection.run_sync(work)
    except (CommandError, RevisionError) as error:
        raise ValueError(_unknown(error)) from None
    except DatabaseUnavailable as error:
        raise DatabaseUnavailable(f"the database `{database_url(settings)!r}` cannot be used: {error}") from None
    finally:
        await database.close()


def _unknown(error: Exception) -> str:
    known = ScriptDirectory.from_config(config())
    revisions = ", ".join(f"`{one.revision}`" for one in reversed(list(known.walk_revisions())))
    return f"the database's schema does not belong to this version of Baton: {error}; known revisions: {revisions}"


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
