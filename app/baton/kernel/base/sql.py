"""SQL access: one engine for SQLite or Postgres, and one error for their failures."""

import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

import msgspec
from sqlalchemy import Column, ColumnElement, Dialect, Executable, Table, event, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import JSON, Boolean, DateTime, Float, Integer, LargeBinary, String, TypeDecorator, TypeEngine
from sqlmodel import SQLModel

from baton.kernel.base.driver import BUSY_S, PATIENCE_S, PRAGMAS, DriverTarget, said
from baton.kernel.base.errors import StoreUnavailable, TooLongToFind, Unavailable
from baton.kernel.base.settings import Settings
from baton.lib.text.masking import mask
from baton.shared.storable import storable

T = TypeVar("T", bound=msgspec.Struct)
SETTLED_NS = 2_100_000_000  # age of a change from which another one has another time on any disk, in nanoseconds
LARGEST_BATCH = 250  # maximum number of rows deleted per transaction. More would delay the storing of decisions.

_TOO_LONG = "54000"  # Postgres's SQLSTATE for a value too long for its index
_DRIVERS = {
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
}

_OPTIONS: dict[str, Any] = {
    "hide_parameters": True,  # personal data must not be logged
    "json_serializer": lambda value: msgspec.json.encode(value).decode(),
    "json_deserializer": msgspec.json.decode,
}


class DatabaseUnavailable(Unavailable):
    """The database is unavailable, locked or too slow. As far as known, the transaction was rolled back."""

    def __init__(self, cause: str, place: str = "") -> None:
        super().__init__(f"the database{place and f' `{place}`'} is unavailable: {cause}")
        self.cause = cause


class StoreErrors:
    """Converts Unavailable within a block into StoreUnavailable, with a detail for the caller; "" for none."""

    def __init__(self, detail: str) -> None:
        self._detail = detail

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _stack: object) -> None:
        if self._detail and isinstance(error, Unavailable):
            raise StoreUnavailable(self._detail) from None


class UTCDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored in UTC on both databases. Naive ones are refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC. SQLite compares timestamps as strings, so all need one zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a timezone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Add the timezone omitted by SQLite."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


_COLUMN_TYPES: dict[Any, TypeEngine[Any]] = {
    str: String(),
    int: Integer(),
    bool: Boolean(),
    float: Float(),
    bytes: LargeBinary(),
    datetime: UTCDateTime(),
}  # column types by field type; a Literal is a string. All other fields are JSON.


def table_of(
    name: str,
    fields: type[msgspec.Struct] | Mapping[str, Any],
    *more: SchemaItem,
    keys: Sequence[str] = ("id",),
    **options: Any,
) -> Table:
    """Return a table with a column per field, and of `organisation` and the primary key besides.

    `fields` are those of a struct, or types by name.
    """
    types = fields if isinstance(fields, Mapping) else types_of(fields)
    own = {one: str for one in ("organisation", *keys) if one not in types}
    columns = (_column(one, kind, primary_key=one in keys) for one, kind in {**own, **types}.items())
    return Table(name, SQLModel.metadata, *columns, *more, **options)


def types_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the types of a struct's fields by name."""
    return {field.name: field.type for field in msgspec.structs.fields(struct)}


def _column(name: str, kind: Any, *, primary_key: bool) -> Column[Any]:
    nullable = isinstance(kind, UnionType)
    if nullable:
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    column_type = _COLUMN_TYPES.get(str if get_origin(kind) is Literal else kind, JSON(none_as_null=True))
    column: Column[Any] = Column(column_type, primary_key=primary_key, nullable=nullable)
    # Given to `Column` itself, a name becomes a subclass of `str`, and msgspec refuses rows with such names.
    column.name = column.key = name
    return column


def row_of(struct: msgspec.Struct, masked: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a struct as a row of storable values. Tuples become lists; secrets in the `masked` fields are masked."""
    row: dict[str, Any] = {
        name: storable(value) if isinstance(value, str) else list(value) if isinstance(value, tuple) else value
        for name, value in msgspec.structs.asdict(struct).items()
    }
    return row | {name: mask(row[name]) for name in masked}


def insert_into(dialect: str, table: Table) -> sqlite.Insert:
    """Return an insert that supports conflict clauses. Each database has its own class for it."""
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - not needed with SQLite

    return cast("sqlite.Insert", postgresql.insert(table))


def equal(table: Table, **wanted: str) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a filter by columns. "" is any value, so never pass the organisation."""
    return (table.c[name] == storable(value) for name, value in wanted.items() if value)


def within(column: Column[Any], since: datetime | None, until: datetime | None) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a period, from `since` to before `until`."""
    if since is not None:
        yield column >= since
    if until is not None:
        yield column < until


async def upsert(connection: AsyncConnection, table: Table, rows: Any, *changed: str) -> None:
    """Insert a row or a list of rows. Of one whose key is stored, change these columns, by default all."""
    insert = insert_into(connection.dialect.name, table)
    names = changed or [column.name for column in table.c if not column.primary_key]
    set_ = {name: insert.excluded[name] for name in names}
    await connection.execute(insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=set_), rows)


def database_url(settings: Settings) -> URL:
    """Return the database's URL, with the asynchronous driver. Raise ValueError for an unsupported database."""
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
    """Return the connection arguments of a URL for a driver without SQLAlchemy."""
    if url.get_backend_name() == "sqlite":
        return DriverTarget("sqlite", {"database": url.database})
    return DriverTarget("postgresql", dict(url.get_dialect()().create_connect_args(url)[1]))


class Database:
    """One database with its connections. Features define their own tables and queries."""

    def __init__(self, settings: Settings) -> None:
        url = database_url(settings)
        self.dialect = url.get_backend_name()
        self.place = mask(settings.database_url) or str(url.database)  # without the password
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
    async def transaction(self, away: str = "") -> AsyncIterator[AsyncConnection]:
        """Open a transaction, commit it at the end of the block, and yield its connection.

        Raise DatabaseUnavailable (with `away`: StoreUnavailable with this detail instead), or TooLongToFind if a value
        exceeds the size limit of Postgres's indexes.
        """
        with StoreErrors(away):
            try:
                async with self.engine.begin() as connection:
                    yield connection
            except (OperationalError, InterfaceError, PoolTimeout, TimeoutError, OSError) as error:
                raise DatabaseUnavailable(said(error), self.place) from error
            except DBAPIError as error:
                # Postgres's classes: 08 connection, 53 resources, 55 locks, 57 operator, 58 system; 25006 is read-only.
                is_away = error.connection_invalidated or _state(error)[:2] in {"08", "53", "55", "57", "58"}
                # A SQLite file that is damaged, or not a database.
                if is_away or _state(error) == "25006" or (self.dialect == "sqlite" and type(error) is DatabaseError):
                    raise DatabaseUnavailable(said(error), self.place) from error
                if _state(error) == _TOO_LONG:
                    raise TooLongToFind from error
                raise

    async def rows(self, query: Executable) -> Sequence[Any]:
        """Return all rows of a query. Raise DatabaseUnavailable."""
        async with self.transaction() as connection:
            return (await connection.execute(query)).all()

    async def read(self, query: Executable, kind: type[T], *, strict: bool = True) -> list[T]:
        """Return the rows of a query as structs. Raise DatabaseUnavailable."""
        return [msgspec.convert(row._asdict(), kind, strict=strict) for row in await self.rows(query)]

    def stamp(self) -> tuple[int, ...]:
        """Return a value that changes with each commit, from SQLite's files; () if it is unknown or too recent."""
        with suppress(OSError):
            files = [f"{self.engine.url.database}{end}" for end in ("", "-wal") if self.dialect == "sqlite"]
            found = [(stat.st_mtime_ns, stat.st_size) for stat in map(os.stat, files)]
            if found and max(found)[0] < time.time_ns() - SETTLED_NS:
                return sum(found, ())
        return ()

    async def look(self) -> tuple[datetime | None, bool]:
        """Return Postgres's time (None for SQLite), and whether it refuses writes. Raise DatabaseUnavailable."""
        of_postgres = "SELECT clock_timestamp(), current_setting('transaction_read_only') = 'on'"
        async with self.transaction() as connection:
            query = text("SELECT NULL, 0" if self.dialect == "sqlite" else of_postgres)
            now, is_read_only = (await connection.execute(query)).one()
        return now, bool(is_read_only)

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()


def _state(error: DBAPIError) -> str:
    return str(getattr(error.orig, "sqlstate", None) or "")


def _sqlite(url: URL) -> AsyncEngine:
    engine = create_async_engine(url, connect_args={"timeout": BUSY_S}, **_OPTIONS)

    @event.listens_for(engine.sync_engine, "connect")
    def _prepare(connection: Any, _: object) -> None:
        for end in ("", "-wal", "-shm"):  # a new WAL file inherits its database's mode
            with suppress(OSError):
                Path(f"{url.database}{end}").chmod(0o600)
        cursor = connection.cursor()
        for pragma in PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine
