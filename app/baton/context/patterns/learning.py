"""What patterns learn: confidence from the edits that were held to them, and proposals from what records repeat.

Nothing that is learned is put into a prompt by itself: a proposal waits for a person, and edits only move the confidence of
a pattern that a person has approved.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import msgspec

from baton.context.patterns import repeated_store, store
from baton.context.patterns.pattern import NewPattern, Pattern
from baton.context.patterns.service import Patterns, owning_team
from baton.context.patterns.store import KIND
from baton.engine.call.principal import Principal
from baton.engine.shell.read import read
from baton.kernel.base.errors import Conflict, Invalid, StoreUnavailable
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import leadership
from baton.kernel.changes.announce import Changes
from baton.people.permissions import require
from baton.policies.in_force import Policies

log = logging.getLogger(__name__)

PRIOR_EDITS = 20
"""Edits that a person's word weighs as much as: after so many the confidence lies halfway between both."""
LEAST_STEP = 0.01
"""The change of a confidence that is worth storing."""
PERIOD = timedelta(hours=1)
"""How often confidences are learned, by one process for all servers."""
LOOK_S = 60.0
"""How often each process checks whether it is time, in seconds."""
LOOK_BACK = timedelta(days=30)
"""How far back records are searched for what they repeat."""
LEAST_SESSIONS = 5
"""Sessions in which a command must have run to be proposed."""
MOST_PROPOSED = 20
"""Proposals that one look makes, the most repeated first."""
FIND_S = 10.0
"""Longest that the records may be searched, in seconds."""
_LONGEST_COMMAND = 120
_SURENESS, _MOST_SURE = 0.7, 0.95
_MANY_SESSIONS = 100

Source = Callable[[str, str, datetime], Awaitable[list[NewPattern]]]
"""Finds proposals for an organisation and a team since a moment. Raise DatabaseUnavailable."""


def learned_confidence(stated: float, followed: int, violated: int) -> float:
    """Return the confidence that holds: a person's word, weighed as `PRIOR_EDITS` edits, with the edits that were checked."""
    return round((stated * PRIOR_EDITS + followed) / (PRIOR_EDITS + followed + violated), 4)


class PatternLearning:
    """Learns once an hour, and proposes when a person asks for it."""

    def __init__(
        self, database: Database, changes: Changes, patterns: Patterns, policies: Policies, organisation: str
    ) -> None:
        self._database = database
        self._changes = changes
        self._patterns = patterns
        self._policies = policies
        self._organisation = organisation
        self._sources: list[Source] = [self._commands]

    def also_from(self, source: Source) -> None:
        """Make proposals of another room's records as well."""
        self._sources.append(source)

    async def run(self, stop: asyncio.Event) -> None:
        """Learn confidences once an hour, in the process that leads this work, until `stop` is set."""
        while not stop.is_set():
            with contextlib.suppress(DatabaseUnavailable, StoreUnavailable):
                now = datetime.now(UTC)
                if await leadership.take(self._database, self._organisation, KIND, now, PERIOD):
                    await self.learn()
            await pause(stop, LOOK_S)

    async def learn(self) -> int:
        """Store the confidences that edits have moved; return of how many patterns. Raise StoreUnavailable."""
        system = Principal(organisation=self._organisation, team="", user="baton", role="admin")
        moved = 0
        async with self._changes.write(KIND, system, "pattern.learn") as change:
            for before in await store.judged(change.connection, self._organisation):
                confidence = learned_confidence(before.stated, before.followed, before.violated)
                if abs(confidence - before.confidence) < LEAST_STEP:
                    continue
                after = msgspec.structs.replace(before, confidence=confidence, version=before.version + 1)
                if await store.replace(change.connection, self._organisation, after):
                    moved += 1
                    await change.audit(before.id, before=_of(before), after=_of(after))
            if not moved:
                change.unchanged()
        return moved

    async def propose(self, principal: Principal, team: str = "") -> list[Pattern]:
        """Propose what the team's records repeat; what was proposed before, and declined too, is left out.

        Raises:
            Forbidden: If the role may not.
            StoreUnavailable: If the database is away or too slow.
        """
        owner = owning_team(principal, require(principal, "patterns.decide"), team)
        since = datetime.now(UTC) - LOOK_BACK
        try:
            async with asyncio.timeout(FIND_S):
                found = [new for source in self._sources for new in await source(principal.organisation, owner, since)]
        except (DatabaseUnavailable, TimeoutError):
            raise StoreUnavailable("the records cannot be searched now; try again") from None
        made: list[Pattern] = []
        for new in found:
            if len(made) == MOST_PROPOSED:
                break
            with contextlib.suppress(Conflict, Invalid):
                made.append(await self._patterns.store_proposal(principal, owner, new, "records"))
        return made

    async def _commands(self, organisation: str, team: str, since: datetime) -> list[NewPattern]:
        """Propose the tests and builds that sessions of a project run again and again."""
        repeated = await repeated_store.commands(
            self._database, organisation, team, since, least_sessions=LEAST_SESSIONS
        )
        tables = self._policies.active.tables
        return [
            NewPattern(
                signature=f"Check your work with `{one.command}`",
                text=f"{one.sessions} sessions of {one.users} people ran it here within 30 days.",
                project=one.project,
                domain="testing",
                confidence=min(_MOST_SURE, _SURENESS + one.sessions / _MANY_SESSIONS),
                reason="repeated in the team's records",
            )
            for one in repeated
            if len(one.command) <= _LONGEST_COMMAND
            and "\n" not in one.command
            and read(tables, one.command).categories == ("test-or-build",)
        ]


def _of(pattern: Pattern) -> dict[str, object]:
    return {
        "signature": pattern.signature,
        "confidence": pattern.confidence,
        "followed": pattern.followed,
        "violated": pattern.violated,
    }
