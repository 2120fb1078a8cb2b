"""Keeps the hours' counts of hook calls that were answered without a decision."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time.time_buckets import bucket_name
from baton.records.analytics import hook_failures_store as store
from baton.records.analytics.hook_failures_store import FailureKey

FLUSH_S = 2.0
"""How often counts are stored, in seconds; a process that is killed loses those of its last ones."""
MOST_HELD = 5_000
"""Counts that are held while the database is away: a week of hours with thirty kinds of failure each."""


class HookFailures:
    """Counts in memory, and stores the counts every few seconds."""

    def __init__(self, database: Database, organisation: str) -> None:
        self._database = database
        self._organisation = organisation
        self._held: Counter[FailureKey] = Counter()

    def failed(self, client: str, answer: str, code: str) -> None:
        """Count a hook call that was answered with its client's failure answer instead of a decision."""
        key = FailureKey(self._organisation, bucket_name(datetime.now(UTC), "hour"), client, answer, code)
        if key in self._held or len(self._held) < MOST_HELD:
            self._held[key] += 1

    async def run(self, stop: asyncio.Event) -> None:
        """Store the counts every few seconds, and once more at the end."""
        while not stop.is_set():
            await pause(stop, FLUSH_S)
            await self.flush()

    async def flush(self) -> None:
        """Store what was counted; while the database is away it is held."""
        held, self._held = self._held, Counter()
        if not held:
            return
        try:
            await store.add(self._database, held)
        except DatabaseUnavailable:
            self._held.update(held)
