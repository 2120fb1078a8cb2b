"""The patterns in force of every team, in the memory of each server; only changes are read again."""

import asyncio
import logging

from baton.context.patterns import store
from baton.context.patterns.index import Found, IndexedPattern, TeamIndex, Vector, unpacked
from baton.context.patterns.store import KIND
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes

log = logging.getLogger(__name__)

BATCH = 1_000
"""Patterns read at a time: a few milliseconds of the loop."""
IN_LOOP = 10_000
"""Maximum patterns for a search in the event loop; it takes a fifth of a millisecond there."""
INDEX = "built-in"
"""The index's name in answers: exact, in each server's memory. Extensions of the database are not used."""


class PatternsInForce:
    """Each team's index."""

    def __init__(self, database: Database, changes: Changes, organisation: str) -> None:
        self._database = database
        self._changes = changes
        self._organisation = organisation
        self._teams: dict[str, TeamIndex] = {}
        self._read_to: tuple[int, str] | None = None
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Read the changes since the last call, initially all patterns in force. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            first = self._read_to is None
            end = await store.newest_number(self._database, self._organisation) if first else 0
            after = self._read_to or (-1, "")
            while True:
                found = await store.changed(
                    self._database, self._organisation, after, all_of_them=not first, limit=BATCH
                )
                for one in found:
                    index = self._teams.setdefault(one.pattern.team, TeamIndex())
                    if one.pattern.in_force:
                        index.put(IndexedPattern.build(one.pattern), unpacked(one.vector))
                    else:
                        index.drop(one.pattern.id)
                if found:
                    after = (found[-1].number, found[-1].pattern.id)
                if len(found) < BATCH:
                    break
                await asyncio.sleep(0)
            # From the newest number before the reading: patterns retired during the first load are read again.
            self._read_to = (end, "\U0010ffff") if first else max(after, self._read_to or after)

    def count(self, team: str) -> int:
        """Return the number of a team's patterns in force, in all its projects."""
        index = self._teams.get(team)
        return 0 if index is None else len(index)

    def team(self, team: str) -> TeamIndex | None:
        """Return a team's index, None without a pattern in force."""
        index = self._teams.get(team)
        return index or None

    async def best(self, team: str, vector: Vector | None, project: str, limit: int) -> list[Found]:
        """Return a team's most valuable patterns for a project, like `TeamIndex.best`."""
        index = self.team(team)
        if index is None:
            return []
        if len(index) <= IN_LOOP:
            return index.best(vector, project, limit)
        return await asyncio.to_thread(index.best, vector, project, limit)
