"""Write to the database through its own driver: for a process that only inserts, SQLAlchemy takes long to import."""

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    import asyncpg

BUSY_S = 1.0
"""How long SQLite waits for another writer, in seconds."""
PATIENCE_S = 5.0
"""Longest wait for a Postgres connection, and for one statement, in seconds."""
PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")

Dialect = Literal["sqlite", "postgresql"]
Rows = Sequence[tuple[Any, ...]]
Statements = Sequence[tuple[str, Rows]]
"""Statements, each with the rows that it is executed for."""


class Writes(NamedTuple):
    """What one transaction writes: rows, and what follows from those that were not stored before.

    `insert` leaves a row alone that is stored already; the first column of `rows` is the key. SQLite executes it a row
    at a time. Postgres takes an array a column and returns the keys of the new rows.
    """

    insert: str
    rows: Rows
    beside: Callable[[Collection[str]], Statements]
    """Returns the statements of the same transaction, given the keys of the rows that are new."""
    updates: Statements = ()
    """Statements that follow, each of which returns what identifies the rows that it changed."""
    after: Callable[[Collection[str], Rows], Statements] = lambda *_: ()
    """Returns the last statements, given the keys of the new rows and what the updates returned."""


_OF_THE_ROWS = frozenset({"22", "23"})
"""Postgres's error classes that the content of a row causes: 22 data exception, 23 constraint violation."""
_TOO_LONG_FOR_AN_INDEX = "54000"


class DriverTarget(msgspec.Struct, frozen=True):
    """Where a driver connects to: the arguments of `sqlite3.connect` or of `asyncpg.connect`."""

    dialect: Dialect
    arguments: dict[str, Any]


class DriverUnavailable(Exception):
    """The database is away, locked or too slow; nothing was written, as far as can be told."""


class RowsRefused(Exception):
    """The database does not take what is in the rows; nothing was written."""


class Driver(Protocol):
    """One connection that writes."""

    async def write(self, writes: Writes) -> None:
        """Write rows and what follows from them, all in one transaction.

        Raises:
            DriverUnavailable: If the database is away, locked, too slow, or lacks a table.
            RowsRefused: If the content of a row is at fault.
        """
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


def driver(target: DriverTarget) -> Driver:
    """Return the driver of a database. It connects when it first writes, and again after a failure."""
    return SqliteDriver(target.arguments) if target.dialect == "sqlite" else PostgresDriver(target.arguments)


class SqliteDriver:
    """SQLite, in a thread of its own: a write may wait for other writers."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments
        self._thread = ThreadPoolExecutor(1, "sqlite")
        self._connection: sqlite3.Connection | None = None

    async def write(self, writes: Writes) -> None:
        """Write; see `Driver`."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._write, writes)

    async def close(self) -> None:
        """Close the connection and end the thread."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _write(self, writes: Writes) -> None:
        try:
            connection = self._connection or self._connect()
            # A transaction that begins as a reader and then writes would fail at once where another one writes.
            connection.execute("BEGIN IMMEDIATE")
            try:
                new = [row[0] for row in writes.rows if connection.execute(writes.insert, row).rowcount == 1]
                for statement, rows in writes.beside(new):
                    connection.executemany(statement, rows)
                changed = [
                    row for update, rows in writes.updates for one in rows for row in connection.execute(update, one)
                ]
                for statement, rows in writes.after(new, changed):
                    connection.executemany(statement, rows)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            # DatabaseError itself, and no kind of it: the file is damaged, or no database.
            if isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError:
                self._close()
                raise DriverUnavailable(str(error)) from error
            raise RowsRefused(str(error)) from error
        except (ValueError, OverflowError) as error:  # half a surrogate pair, a number of more than 64 bits
            raise RowsRefused(str(error)) from error

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
        # Names that SQLAlchemy gives to arguments of its own; asyncpg knows the cache by another one.
        theirs = {"prepared_statement_cache_size", "prepared_statement_name_func", "async_fallback"}
        self._arguments = {name: value for name, value in arguments.items() if name not in theirs}
        if "prepared_statement_cache_size" in arguments:
            self._arguments["statement_cache_size"] = int(arguments["prepared_statement_cache_size"])
        self._connection: asyncpg.Connection[Any] | None = None

    async def write(self, writes: Writes) -> None:
        """Write; see `Driver`."""
        import asyncpg  # noqa: PLC0415 - a server with SQLite needs none of it

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
                    tuple(row)
                    for update, rows in writes.updates
                    for one in rows
                    for row in await connection.fetch(update, *one)
                ]
                for statement, rows in writes.after(new, changed):
                    await connection.executemany(statement, rows)
        except asyncpg.PostgresError as error:
            state = error.sqlstate or ""
            if state[:2] in _OF_THE_ROWS or state == _TOO_LONG_FOR_AN_INDEX:
                raise RowsRefused(str(error)) from error
            self._drop()
            raise DriverUnavailable(str(error)) from error
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError, EOFError) as error:
            self._drop()
            raise DriverUnavailable(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        """Close the connection, without waiting for a server that does not answer."""
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
