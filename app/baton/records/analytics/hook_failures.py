"""Stores hourly counts of hook calls answered without a decision."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import ClassVar

import msgspec
from sqlalchemy import Table, delete, func, select
from sqlmodel import Field, SQLModel

from baton.kernel.base.clock import Bucket, bucket_name, start_of_bucket
from baton.kernel.base.sql import Database, DatabaseUnavailable, insert_into

# The table of hook calls answered without a decision, counted by hour.


class HookFailureRow(SQLModel, table=True):
    """One hour (UTC) of one client, answer and error."""

    __tablename__ = "hook_failures"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    hour: str = Field(primary_key=True)
    client: str = Field(primary_key=True)
    answer: str = Field(primary_key=True)
    code: str = Field(primary_key=True)
    calls: int


class FailureKey(msgspec.Struct, frozen=True):
    """A count's organisation, hour, client, answer and error."""

    organisation: str
    hour: str
    client: str
    answer: str
    code: str


class HookFailureCount(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody's hook calls without a decision, in the hour or day starting `at`.

    `answer` is whether the client let the call run (`allow`: the hook failed open) or not (`block`), `code` the
    error's.
    """

    at: datetime
    client: str
    answer: str
    code: str
    calls: int


_failures = HookFailureRow.__table__


async def add(database: Database, counts: Mapping[FailureKey, int]) -> None:
    """Add to the stored counts. Raise DatabaseUnavailable; nothing was added then."""
    insert = insert_into(database.dialect, _failures)
    upsert = insert.on_conflict_do_update(
        index_elements=list(FailureKey.__struct_fields__), set_={"calls": _failures.c.calls + insert.excluded.calls}
    )
    async with database.transaction() as connection:
        await connection.execute(upsert, [msgspec.structs.asdict(key) | {"calls": n} for key, n in counts.items()])


async def find(
    database: Database, organisation: str, since: datetime, until: datetime, by: Bucket
) -> list[HookFailureCount]:
    """Return the counts of a period's hours or days, the oldest first. Raise DatabaseUnavailable."""
    length = len(bucket_name(since, by))
    bucket = func.substr(_failures.c.hour, 1, length).label("bucket")
    named = (_failures.c.client, _failures.c.answer, _failures.c.code)
    query = (
        select(bucket, *named, func.sum(_failures.c.calls).label("calls"))
        .where(
            _failures.c.organisation == organisation,
            _failures.c.hour >= bucket_name(since, "hour"),
            _failures.c.hour <= bucket_name(until, "hour"),
        )
        .group_by(bucket, *named)
        .order_by(bucket, *named)
    )
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [
        HookFailureCount(
            at=start_of_bucket(row.bucket, by),
            client=row.client,
            answer=row.answer,
            code=row.code,
            calls=int(row.calls),
        )
        for row in rows
    ]


async def purge(database: Database, organisation: str, before: datetime) -> int:
    """Remove the hours before a moment's; return how many rows went. Raise DatabaseUnavailable."""
    where = (_failures.c.organisation == organisation, _failures.c.hour < bucket_name(before, "hour"))
    async with database.transaction() as connection:
        return (await connection.execute(delete(_failures).where(*where))).rowcount


MOST_HELD = 5_000
"""Counts that are held while the database is unavailable: a week of hours with thirty kinds of failure each."""


class HookFailures:
    """Counts in memory, and stores the counts every few seconds."""

    def __init__(self, database: Database, organisation: str) -> None:
        self._database = database
        self._organisation = organisation
        self._held: Counter[FailureKey] = Counter()

    def failed(self, client: str, answer: str, code: str) -> None:
        """Count a hook call with the client's failure answer instead of a decision."""
        key = FailureKey(self._organisation, bucket_name(datetime.now(UTC), "hour"), client, answer, code)
        if key in self._held or len(self._held) < MOST_HELD:
            self._held[key] += 1

    async def flush(self) -> None:
        """Store the counts. They are kept while the database is unavailable."""
        held, self._held = self._held, Counter()
        if not held:
            return
        try:
            await add(self._database, held)
        except DatabaseUnavailable:
            self._held.update(held)
