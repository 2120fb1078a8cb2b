"""Brings a database to the newest schema, in this process, before anything else uses it. It goes back only when told."""

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
"""Postgres's advisory lock that keeps two servers from migrating at once ("baton" in ASCII)."""


def config(connection: Connection | None = None) -> Config:
    """Configure alembic, to run on a connection that is open already."""
    made = Config(attributes={"connection": connection})
    made.set_main_option("script_location", str(packaged.folder("alembic")).replace("%", "%%"))
    return made


async def upgrade(settings: Settings) -> None:
    """Bring the settings' database to the newest schema; a second process that does the same waits.

    Raises:
        DatabaseUnavailable: the database is away.
        ValueError: the database is of a newer Baton.
    """
    await _run(settings, lambda sync: command.upgrade(config(sync), "head"))


async def downgrade(settings: Settings, revision: str) -> None:
    """Bring the settings' database back to a revision; what only later ones hold is lost.

    Raises:
        DatabaseUnavailable: the database is away.
        ValueError: there is no such revision before the database's own.
    """
    await _run(settings, lambda sync: command.downgrade(config(sync), revision))


async def missing(settings: Settings) -> list[str]:
    """Describe each revision that the settings' database lacks, the oldest first; changes nothing.

    Raises:
        DatabaseUnavailable: the database is away.
        ValueError: the database is of a newer Baton.
    """
    url = database_url(settings)
    if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):  # noqa: ASYNC240, PTH110 - a local file
        return _lacking(None)  # to look would create it
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
            if database.dialect == "sqlite":  # Python's driver begins no transaction for DDL by itself
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
    return f"the database's schema is not of this Baton: {error}; known revisions: {revisions}"


@asynccontextmanager
async def _alone(settings: Settings, database: Database) -> AsyncIterator[None]:
    """Keep other processes from migrating this database meanwhile."""
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
        # A lock of a second session: it outlives the transaction that migrates, and ends with the connection.
        async with database.transaction() as connection:
            await connection.execute(text("SET LOCAL statement_timeout = 0"))
            await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield
