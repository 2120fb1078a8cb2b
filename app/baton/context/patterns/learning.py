"""Learning of patterns: confidence from checked edits, and proposals from repetitions in records.

Nothing learned reaches a prompt by itself: a proposal waits for a person, and edits only change the confidence of a
pattern approved by a person.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import msgspec
from sqlalchemy import func, select

from baton.context.patterns import store
from baton.context.patterns.pattern import NewPattern, Pattern
from baton.context.patterns.service import Patterns, owning_team
from baton.context.patterns.store import KIND
from baton.kernel.base.errors import Conflict, Invalid, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.lib.bash.read import read
from baton.people.users import require
from baton.policies.in_force import Policies
from baton.records.tables import DECISIONS
from baton.rules.call.call import Principal
from baton.shared.record_ids import least_id
from baton.shared.storable import storable

# Repetitions in a team's sessions, from the table of decisions.

MOST_COMMANDS = 200


class RepeatedCommand(msgspec.Struct, frozen=True):
    """A command, with its number of sessions and people in a project."""

    project: str
    command: str
    sessions: int
    users: int


async def commands(
    database: Database, organisation: str, team: str, since: datetime, *, least_sessions: int
) -> list[RepeatedCommand]:
    """Return the commands of at least so many sessions of a team, most repeated first. Raise DatabaseUnavailable."""
    sessions = func.count(DECISIONS.c.session_id.distinct())
    query = (
        select(DECISIONS.c.project, DECISIONS.c.command, sessions, func.count(DECISIONS.c.user.distinct()))
        .where(
            DECISIONS.c.organisation == organisation,
            DECISIONS.c.team == storable(team),
            DECISIONS.c.id >= least_id(since),  # the index of teams is by id
            DECISIONS.c.event == "PreToolUse",
            DECISIONS.c.outcome == "ran",
            DECISIONS.c.command != "",
        )
        .group_by(DECISIONS.c.project, DECISIONS.c.command)
        .having(sessions >= least_sessions)
        .order_by(sessions.desc(), DECISIONS.c.command)
        .limit(MOST_COMMANDS)
    )
    return [RepeatedCommand(*row) for row in await database.rows(query)]


log = logging.getLogger(__name__)

PRIOR_EDITS = 20
"""Weight of a person's stated confidence, in edits: after so many, the confidence is halfway between both."""
LEAST_STEP = 0.01
"""Minimum stored change of a confidence."""
LOOK_BACK = timedelta(days=30)
"""Maximum age of records searched for repetitions."""
LEAST_SESSIONS = 5
"""Minimum sessions of a proposed command."""
MOST_PROPOSED = 20
"""Maximum proposals of one search, the most repeated first."""
FIND_S = 10.0
"""Time limit of the search in records, in seconds."""
_LONGEST_COMMAND = 120
_SURENESS, _MOST_SURE = 0.7, 0.95
_MANY_SESSIONS = 100

Source = Callable[[str, str, datetime], Awaitable[list[NewPattern]]]
"""Finds proposals for an organisation and a team since a timestamp. Raise DatabaseUnavailable."""


def learned_confidence(stated: float, followed: int, violated: int) -> float:
    """Return the effective confidence: the stated one, weighted as `PRIOR_EDITS` edits, with the checked edits."""
    return round((stated * PRIOR_EDITS + followed) / (PRIOR_EDITS + followed + violated), 4)


class PatternLearning:
    """Learns once an hour, and proposes at a person's request."""

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
        """Also make proposals from another room's records."""
        self._sources.append(source)

    async def learn(self) -> int:
        """Store the confidences changed by edits; return the number of patterns. Raise StoreUnavailable."""
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
        """Propose repetitions in the team's records, except former proposals, including declined ones.

        Raises:
            Forbidden: If the role may not.
            StoreUnavailable: If the database is unavailable or too slow.
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
        """Propose the tests and builds repeated in a project's sessions."""
        repeated = await commands(self._database, organisation, team, since, least_sessions=LEAST_SESSIONS)
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
