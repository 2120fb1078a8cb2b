"""Write to the database through its driver: a process that only inserts avoids importing SQLAlchemy."""

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    import asyncpg

BUSY_S = 1.0  # SQLite's timeout for other writers, in seconds
PATIENCE_S = 5.0  # timeout for a Postgres connection and for one statement, in seconds
PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")

Dialect = Literal["sqlite", "postgresql"]
Rows = Sequence[tuple[Any, ...]]
Statements = Sequence[tuple[str, Rows]]  # statements, each with its rows


class Writes(NamedTuple):
    """The content of one transaction: rows, and statements that depend on the new rows.

    `insert` skips existing rows. The first column of `rows` is the key. SQLite runs it once per row. Postgres takes one
    array per column and returns the keys of the new rows.
    """

    insert: str
    rows: Rows
    beside: Callable[[Collection[str]], Statements]  # given the new keys, returns further statements
    updates: Statements = ()  # statements that follow. Each returns the identifiers of its changed rows.
    after: Callable[[Collection[str], Sequence[Rows]], Statements] = (
        lambda *_: ()
    )  # given new keys and results, the last ones


_OF_THE_ROWS = frozenset({"22", "23"})  # errors by row content: 22 data exception, 23 constraint violation
_TOO_LONG_FOR_AN_INDEX = "54000"


class DriverTarget(msgspec.Struct, frozen=True):
    """Arguments of `sqlite3.connect` or `asyncpg.connect`."""

    dialect: Dialect
    arguments: dict[str, Any]


class DriverUnavailable(Exception):
    """The database is unavailable, locked or too slow. As far as known, nothing was written."""


class RowsRefused(Exception):
    """The database rejects the content of the rows. Nothing was written."""


def said(error: Exception) -> str:
    """Return a database error's cause in one line, without the internals of drivers."""
    error = getattr(error, "orig", None) or error
    text = (error.strerror or "" if isinstance(error, OSError) else "") or str(error)
    text = text.splitlines()[0].partition("'>: ")[2] or text.splitlines()[0] if text else ""
    if isinstance(error, TimeoutError) or not text:
        return "it did not answer in time"
    if "cannot switch to state" in text or "another operation" in text:
        return "the connection broke"
    return text[0].lower() + text[1:]


class Driver(Protocol):
    """One connection for writing."""

    async def write(self, writes: Writes) -> Sequence[Rows]:
        """Write in one transaction. Return the changed rows of each update. Raise DriverUnavailable or RowsRefused."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


def driver(target: DriverTarget) -> Driver:
    """Return the driver of a database. It connects at the first write, and again after a failure."""
    return SqliteDriver(target.arguments) if target.dialect == "sqlite" else PostgresDriver(target.arguments)


class SqliteDriver:
    """SQLite in its own thread, since a write may wait for other writers."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments
        self._thread = ThreadPoolExecutor(1, "sqlite")
        self._connection: sqlite3.Connection | None = None

    async def write(self, writes: Writes) -> Sequence[Rows]:
        """Write; see `Driver`."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._write, writes)

    async def close(self) -> None:
        """Close the connection and end the thread."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _write(self, writes: Writes) -> Sequence[Rows]:
        try:
            connection = self._connection or self._connect()
            # A deferred transaction would fail at once on its first write if another writer is active.
            connection.execute("BEGIN IMMEDIATE")
            try:
                new = [row[0] for row in writes.rows if connection.execute(writes.insert, row).rowcount == 1]
                for statement, rows in writes.beside(new):
                    connection.executemany(statement, rows)
                changed = [
                    [row for one in rows for row in connection.execute(update, one)] for update, rows in writes.updates
                ]
                for statement, rows in writes.after(new, changed):
                    connection.executemany(statement, rows)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk has rolled it back already
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            # A plain DatabaseError, not a subclass: the file is damaged or not a database.
            if isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError:
                self._close()
                raise DriverUnavailable(said(error)) from error
            raise RowsRefused(str(error)) from error
        except (ValueError, OverflowError) as error:  # a lone surrogate, an integer of more than 64 bits
            raise RowsRefused(str(error)) from error
        return changed

    def _connect(self) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(**self._arguments, timeout=BUSY_S, isolation_level=None)
        self._connection = connection
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class PostgresDriver:
    """Postgres, over one connection."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        # SQLAlchemy's own arguments. asyncpg has another name for the cache size.
        theirs = {"prepared_statement_cache_size", "prepared_statement_name_func", "async_fallback"}
        self._arguments = {name: value for name, value in arguments.items() if name not in theirs}
        if "prepared_statement_cache_size" in arguments:
            self._arguments["statement_cache_size"] = int(arguments["prepared_statement_cache_size"])
        self._connection: asyncpg.Connection[Any] | None = None

    async def write(self, writes: Writes) -> Sequence[Rows]:
        """Write; see `Driver`."""
        import asyncpg  # noqa: PLC0415 - not needed with SQLite

        try:
            connection = self._connection
            if connection is None or connection.is_closed():
                connection = await asyncpg.connect(**self._arguments, timeout=PATIENCE_S, command_timeout=PATIENCE_S)
                self._connection = connection
            async with connection.transaction():
                columns = zip(*writes.rows, strict=True)
                new = [row[0] for row in await connection.fetch(writes.insert, *columns)] if writes.rows else []
                for statement, rows in writes.beside(new):
                    await connection.executemany(statement, rows)
                changed = [
                    [tuple(row) for one in rows for row in await connection.fetch(update, *one)]
                    for update, rows in writes.updates
                ]
                for statement, rows in writes.after(new, changed):
                    await connection.executemany(statement, rows)
        except asyncpg.PostgresError as error:
            state = error.sqlstate or ""
            if state[:2] in _OF_THE_ROWS or state == _TOO_LONG_FOR_AN_INDEX:
                raise RowsRefused(str(error)) from error
            self._drop()
            raise DriverUnavailable(said(error)) from error
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError, EOFError) as error:
            self._drop()
            raise DriverUnavailable(said(error)) from error
        return changed

    async def close(self) -> None:
        """Close the connection, without waiting for an unresponsive server."""
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
