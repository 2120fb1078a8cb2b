"""Counts of patterns that were shown, followed and violated: gathered in memory, and added up in SQL."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable

from baton.context.patterns import store
from baton.context.patterns.pattern import Use
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable

FLUSH_S = 2.0
"""How often counts are stored, in seconds; a server that is killed loses the last ones."""
MOST_WAITING = 10_000
"""Patterns whose counts wait while the database is away; those of further ones are lost."""


class PatternCounts:
    """What became of patterns since the last time that counts were stored."""

    def __init__(self, database: Database, organisation: str) -> None:
        self._database = database
        self._organisation = organisation
        self._waiting: Counter[tuple[str, Use]] = Counter()

    def shown(self, ids: Iterable[str]) -> None:
        """Count that patterns were put into a prompt."""
        for one in ids:
            self._count(one, "shown")

    def judged(self, pattern_id: str, *, violated: bool) -> None:
        """Count an edit that followed a pattern, or violated it."""
        self._count(pattern_id, "violated" if violated else "followed")

    def _count(self, pattern_id: str, use: Use) -> None:
        if len(self._waiting) < MOST_WAITING or (pattern_id, use) in self._waiting:
            self._waiting[pattern_id, use] += 1

    async def run(self, stop: asyncio.Event) -> None:
        """Store counts every two seconds, and once more at the end."""
        while not stop.is_set():
            await pause(stop, FLUSH_S)
            with contextlib.suppress(DatabaseUnavailable):
                await self.flush()

    async def flush(self) -> None:
        """Store what was counted. Raise DatabaseUnavailable; the counts wait then."""
        counted, self._waiting = self._waiting, Counter()
        if not counted:
            return
        try:
            await store.count(self._database, self._organisation, counted)
        except BaseException:
            self._waiting.update(counted)
            raise
