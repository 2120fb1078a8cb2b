"""Database clock, and transactions for writing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, String, cast, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.driver import PATIENCE_S
from baton.kernel.base.errors import Invalid
from baton.kernel.base.sql import Database

_turns: WeakKeyDictionary[Database, asyncio.Lock] = WeakKeyDictionary()  # orders writers: SQLite has no queue


async def now(connection: AsyncConnection) -> datetime:
    """Read the database's clock, or the machine's for SQLite."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    moment: datetime = (await connection.execute(select(func.clock_timestamp()))).scalar_one()
    return moment.astimezone(UTC)


@asynccontextmanager
async def writing(database: Database) -> AsyncIterator[AsyncConnection]:
    """Open a transaction for writing: on SQLite, one at a time. Do not nest it. Raise DatabaseUnavailable."""
    if database.dialect != "sqlite":
        async with database.transaction() as connection:
            yield connection
        return
    async with _turns.setdefault(database, asyncio.Lock()), database.transaction() as connection:
        await _begin(connection)
        yield connection


async def _begin(connection: AsyncConnection) -> None:
    ends = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        try:
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
        except OperationalError:
            if asyncio.get_running_loop().time() >= ends:
                raise
        else:
            return


# The period of a list or a sum: by default the last seven days.

WEEK = timedelta(days=7)
YEAR = timedelta(days=366)
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def start_of(since: datetime | None, until: datetime | None, usual: timedelta = WEEK) -> datetime:
    """Return `since`, or the `usual` period before `until` (default: now)."""
    return since or max(until or datetime.now(UTC), _EARLIEST + usual) - usual


def period_of(
    since: datetime | None, until: datetime | None, usual: timedelta = WEEK, longest: timedelta = YEAR, by: str = ""
) -> tuple[datetime, datetime]:
    """Return the start (`start_of`) and the end of a period. Raise Invalid if it is longer than `longest`."""
    end = until or datetime.now(UTC)
    start = start_of(since, end, usual)
    if end - start > longest:
        why = f"is more than {longest.days} days before the end of the period"
        raise Invalid("since", f"{why}, by `{by}`" if by else why)
    return start, end


# Time buckets (UTC) for SQL grouping and for answers.

Bucket = Literal["minute", "hour", "day"]
_CUT = {"minute": (16, "YYYY-MM-DD HH24:MI"), "hour": (13, "YYYY-MM-DD HH24"), "day": (10, "YYYY-MM-DD")}
"""Per bucket: the length of its prefix of a SQLite timestamp, and its Postgres format."""
_REST = {"minute": "", "hour": ":00", "day": " 00:00"}


def bucket_of(moment: ColumnElement[Any], by: Bucket, dialect: str) -> ColumnElement[str]:
    """Return the SQL expression for the bucket name of a timestamp column."""
    length, form = _CUT[by]
    if dialect == "sqlite":  # timestamps are UTC strings
        return func.substr(cast(moment, String), 1, length)
    return func.to_char(func.timezone("UTC", moment), form)


def bucket_name(moment: datetime, by: Bucket) -> str:
    """Return the bucket name of an aware datetime."""
    return moment.astimezone(UTC).isoformat(" ")[: _CUT[by][0]]


def start_of_bucket(name: str, by: Bucket) -> datetime:
    """Return the start of a bucket."""
    return datetime.fromisoformat(f"{name}{_REST[by]}+00:00")
