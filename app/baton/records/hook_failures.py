"""Stores hourly counts of hook calls answered without a decision."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from sqlalchemy import delete, func, select

from baton.kernel.base.clock import Bucket, bucket_name, start_of_bucket
from baton.kernel.base.sql import Database, DatabaseUnavailable, insert_into, table_of


class FailureKey(msgspec.Struct, frozen=True):
    """A count's organisation, hour, client, answer and error."""

    organisation: str
    hour: str
    client: str
    answer: str
    code: str


FAILURES = table_of("hook_failures", {"calls": int}, keys=FailureKey.__struct_fields__)
"""Hook calls answered without a decision, counted by hour (UTC)."""


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


async def add(database: Database, counts: Mapping[FailureKey, int]) -> None:
    """Add to the stored counts. Raise DatabaseUnavailable; nothing was added then."""
    insert = insert_into(database.dialect, FAILURES)
    upsert = insert.on_conflict_do_update(
        index_elements=list(FailureKey.__struct_fields__), set_={"calls": FAILURES.c.calls + insert.excluded.calls}
    )
    async with database.transaction() as connection:
        await connection.execute(upsert, [msgspec.structs.asdict(key) | {"calls": n} for key, n in counts.items()])


async def find_failures(
    database: Database, organisation: str, since: datetime, until: datetime, by: Bucket
) -> list[HookFailureCount]:
    """Return the counts of a period's hours or days, the oldest first. Raise DatabaseUnavailable."""
    bucket = func.substr(FAILURES.c.hour, 1, len(bucket_name(since, by))).label("bucket")
    named = (FAILURES.c.client, FAILURES.c.answer, FAILURES.c.code)
    query = (
        select(bucket, *named, func.sum(FAILURES.c.calls).label("calls"))
        .where(
            FAILURES.c.organisation == organisation,
            FAILURES.c.hour >= bucket_name(since, "hour"),
            FAILURES.c.hour <= bucket_name(until, "hour"),
        )
        .group_by(bucket, *named)
        .order_by(bucket, *named)
    )
    rows = await database.rows(query)
    return [msgspec.convert(row._asdict() | {"at": start_of_bucket(row.bucket, by)}, HookFailureCount) for row in rows]


async def purge(database: Database, organisation: str, before: datetime) -> int:
    """Remove the hours before a moment's; return how many rows went. Raise DatabaseUnavailable."""
    where = (FAILURES.c.organisation == organisation, FAILURES.c.hour < bucket_name(before, "hour"))
    async with database.transaction() as connection:
        return (await connection.execute(delete(FAILURES).where(*where))).rowcount


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
