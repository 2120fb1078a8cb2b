"""The way to SQL: one engine for SQLite or Postgres, and its failures as one error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
from sqlalchemy import DateTime, Dialect, Table, event, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.types import TypeDecorator

from baton.engine.text.masking import mask
from baton.kernel.base.driver import BUSY_S, PATIENCE_S, PRAGMAS, DriverTarget
from baton.kernel.base.errors import TooLongToFind
from baton.kernel.base.settings import Settings
from baton.kernel.base.storable import storable

LARGEST_BATCH = 250
"""Rows that one transaction removes: more would hold up those who store decisions."""
PING_S = 0.5
"""Longest wait of a ping, in seconds."""

_TOO_LONG = "54000"
"""Postgres's state for a row that an index has no room for."""
_DRIVERS = {
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
}

_OPTIONS: dict[str, Any] = {
    "hide_parameters": True,  # what people's records say has no place in a log
    "json_serializer": lambda value: msgspec.json.encode(value).decode(),
    "json_deserializer": msgspec.json.decode,
}


class DatabaseUnavailable(Exception):
    """The database is away, locked or too slow; the transaction did not happen, as far as can be told."""


class UTCDateTime(TypeDecorator[datetime]):
    """A moment: timezone-aware in Python on both databases, stored in UTC. A naive one is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; SQLite compares moments as text, so all must be of one zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a timezone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Add the timezone that SQLite does not store."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def row_of(struct: msgspec.Struct, masked: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a struct as a row: a column a field, texts storable, tuples as lists; secrets in free texts masked.

    Args:
        struct: The row's values.
        masked: The fields that hold free text.
    """
    row: dict[str, Any] = {
        name: storable(value) if isinstance(value, str) else list(value) if isinstance(value, tuple) else value
        for name, value in msgspec.structs.asdict(struct).items()
    }
    return row | {name: mask(row[name]) for name in masked}


def insert_into(dialect: str, table: Table) -> sqlite.Insert:
    """Begin an insert that can say what is done on a conflict, which each database has in a class of its own."""
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - a server on SQLite needs nothing of it

    return cast("sqlite.Insert", postgresql.insert(table))


def database_url(settings: Settings) -> URL:
    """Name the database of these settings, with the asynchronous driver.

    Raises:
        ValueError: The URL names a database that is neither Postgres nor SQLite.
    """
    if not settings.database_url:
        return URL.create("sqlite+aiosqlite", database=str(settings.home / "baton.db"))
    url = make_url(settings.database_url)
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise ValueError(f"unknown database `{url.drivername}`; allowed: `postgresql://…`, `sqlite:///…`")
    url = url.set(drivername=driver)
    if "sslmode" in url.query:  # libpq's name; asyncpg calls it `ssl`
        url = url.update_query_dict({"ssl": url.query["sslmode"]}).difference_update_query(["sslmode"])
    return url


def driver_target(url: URL) -> DriverTarget:
    """Return where a driver of its own, without SQLAlchemy, connects to the database of a URL."""
    if url.get_backend_name() == "sqlite":
        return DriverTarget("sqlite", {"database": url.database})
    return DriverTarget("postgresql", dict(url.get_dialect()().create_connect_args(url)[1]))


class Database:
    """One database with its connections. Tables and queries stand in the files of their features."""

    def __init__(self, settings: Settings) -> None:
        url = database_url(settings)
        self.dialect = url.get_backend_name()
        if self.dialect == "sqlite":
            self.engine = _sqlite(url)
        else:
            self.engine = create_async_engine(
                url,
                pool_size=5,
                max_overflow=5,
                pool_timeout=PATIENCE_S,
                pool_pre_ping=True,
                connect_args={"timeout": PATIENCE_S, "command_timeout": PATIENCE_S},
                **_OPTIONS,
            )

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction, committed at the end of the block, and yield its connection.

        Raises:
            DatabaseUnavailable: The database is away, locked or too slow.
            TooLongToFind: A text that is looked for is longer than Postgres's indexes take.
        """
        try:
            async with self.engine.begin() as connection:
                yield connection
        except (OperationalError, InterfaceError, PoolTimeout, TimeoutError, OSError) as error:
            raise DatabaseUnavailable(_said(error)) from error
        except DBAPIError as error:
            # Postgres's classes: 08 connection, 53 resources, 55 locks, 57 operator, 58 system.
            if error.connection_invalidated or _state(error)[:2] in {"08", "53", "55", "57", "58"}:
                raise DatabaseUnavailable(_said(error)) from error
            if self.dialect == "sqlite" and type(error) is DatabaseError:  # the file is damaged, or no database
                raise DatabaseUnavailable(_said(error)) from error
            if _state(error) == _TOO_LONG:
                raise TooLongToFind from error
            raise

    async def ping(self) -> bool:
        """Return whether the database answers within half a second."""
        try:
            async with asyncio.timeout(PING_S), self.transaction() as connection:
                await connection.execute(text("SELECT 1"))
        except (DatabaseUnavailable, DBAPIError, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()


def _said(error: Exception) -> str:
    """Return the database's own words: SQLAlchemy adds the statement and a link."""
    return str(getattr(error, "orig", None) or error)


def _state(error: DBAPIError) -> str:
    return str(getattr(error.orig, "sqlstate", None) or "")


def _sqlite(url: URL) -> AsyncEngine:
    engine = create_async_engine(url, connect_args={"timeout": BUSY_S}, **_OPTIONS)

    @event.listens_for(engine.sync_engine, "connect")
    def _prepare(connection: Any, _: object) -> None:
        cursor = connection.cursor()
        for pragma in PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine
