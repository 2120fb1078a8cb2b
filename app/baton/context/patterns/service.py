"""The patterns of teams, with the permissions to propose, read, approve, retire and merge them."""

from datetime import UTC, datetime

import msgspec
from uuid_utils import uuid7

from baton.context.patterns import store
from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.index import Meanings, packed
from baton.context.patterns.pattern import NewPattern, Pattern, PatternFilter, Source, clean, require_expressions
from baton.context.patterns.store import KIND
from baton.kernel.base.errors import Conflict, Forbidden, Invalid, NotFound
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.write import SqlChange
from baton.kernel.http.paging import check_if_match
from baton.lib.router.text import stems
from baton.lib.text.globs import any_path
from baton.lib.text.masking import mask
from baton.people.users import Reach, require
from baton.rules.call.call import Principal

MOST_PROPOSED = 1_000
"""Maximum undecided proposals of one team: an agent in a loop must not bury people's proposals."""
CANDIDATES = 64
"""Number of patterns near in meaning that a search compares by words."""
_BY_MEANING = 0.7
"""The weight of meaning in a search's score; the rest is the share of found words."""
_AWAY = "patterns cannot be read now; try again"


class Match(msgspec.Struct, frozen=True):
    """A pattern found by a search, and its score, from 0 to 1."""

    pattern: Pattern
    score: float


class Patterns:
    """Proposes, finds and decides on patterns. Each change is audited and announced to every server."""

    def __init__(self, database: Database, changes: Changes, in_force: PatternsInForce, meanings: Meanings) -> None:
        self._database = database
        self._changes = changes
        self._in_force = in_force
        self._meanings = meanings

    @property
    def degraded(self) -> list[str]:
        """Name a search's missing parts: `embeddings` while the word table is missing."""
        return ["embeddings"] if self._meanings.missing else []

    async def propose(self, principal: Principal, new: NewPattern, team: str = "") -> Pattern:
        """Store a proposal, for the caller's own team unless an admin names another.

        Raises:
            Conflict: If the team has this signature already, or too many proposals wait.
            Forbidden: If the role may not propose, or not for this team.
            Invalid: If the cleaned signature is empty, or an expression or a glob cannot be compiled.
            StoreUnavailable: If the database is unavailable; nothing was stored.
        """
        owner = owning_team(principal, _reach(principal, "patterns.propose"), team)
        source: Source = "agent" if principal.agent else "person"
        return await self.store_proposal(principal, owner, new, source)

    async def store_proposal(self, principal: Principal, team: str, new: NewPattern, source: Source) -> Pattern:
        """Store a proposal for a team the caller may propose to. Raises like `propose`."""
        require_expressions(new.check)
        _require_globs(new.globs)
        new = clean(new)
        if not new.signature:
            raise Invalid("signature", "has no visible text")
        pattern = Pattern(
            id=str(uuid7()),
            team=team,
            status="proposed",
            source=source,
            stated=new.confidence,
            created_at=datetime.now(UTC),
            created_by=principal.user,
            **msgspec.structs.asdict(new),
        )
        vector = packed(await self._meanings.vector(f"{pattern.signature}: {pattern.text}"))
        organisation = principal.organisation
        async with self._changes.write(KIND, principal, "pattern.propose") as change:
            same = await store.find_same(change.connection, organisation, team, pattern.project, pattern.signature)
            if same:
                raise Conflict(f"pattern `{same}` has this signature; approve, retire or merge it instead")
            if await store.count_proposed(change.connection, organisation, team) >= MOST_PROPOSED:
                raise Conflict(f"{MOST_PROPOSED} proposals of team `{team}` wait; approve or retire some first")
            await store.add(change.connection, organisation, pattern, vector)
            await change.audit(pattern.id, after=_shown(pattern), reason=new.reason)
        return pattern

    async def find(self, principal: Principal, wanted: PatternFilter, *, before_id: str, limit: int) -> list[Pattern]:
        """Return the patterns of the caller's team, newest first; an admin's and an auditor's of all teams.

        Raises:
            Forbidden: If the role may not, or names another team.
            StoreUnavailable: If the database is unavailable.
        """
        team = _readable_team(principal, wanted.team)
        wanted = msgspec.structs.replace(wanted, team=team)
        with StoreErrors(_AWAY):
            return await store.find_patterns(
                self._database, principal.organisation, wanted, before_id=before_id, limit=limit
            )

    async def get(self, principal: Principal, pattern_id: str) -> Pattern:
        """Return one pattern. Raise NotFound, StoreUnavailable."""
        reach = _reach(principal, "patterns.read")
        async with self._database.transaction(_AWAY) as connection:
            found = await store.get(connection, principal.organisation, pattern_id)
        return _theirs(principal, reach, found, pattern_id)

    async def search(
        self, principal: Principal, text: str, *, team: str = "", project: str = "", limit: int = 10
    ) -> list[Match]:
        """Return the best matching patterns in force for a string, by meaning and by words.

        Raises:
            Forbidden: If the role may not, or names another team.
            StoreUnavailable: If the database is unavailable.
        """
        owner = owning_team(principal, _reach(principal, "patterns.read"), team)
        vector = await self._meanings.vector(text)
        near = await self._in_force.best(owner, vector, project, max(CANDIDATES, limit))
        with StoreErrors(_AWAY):
            patterns = await store.with_ids(
                self._database, principal.organisation, owner, [one.pattern.id for one in near]
            )
        asked = set(stems(text))
        found = []
        for one in near:
            if (pattern := patterns.get(one.pattern.id)) is not None and pattern.in_force:
                score = fit(one.likeness, asked, pattern, by_meaning=vector is not None)
                if score > 0:
                    found.append(Match(pattern, round(score, 4)))
        return sorted(found, key=lambda match: (-match.score, match.pattern.id))[:limit]

    async def approve(
        self, principal: Principal, pattern_id: str, *, confidence: float | None, reason: str, version: str | None
    ) -> Pattern:
        """Put a pattern in force, with the confidence stated by a person; its learning restarts.

        Raises:
            Conflict: If it was merged, or is changed at the same time.
            Forbidden: If the role may not approve.
            NotFound: If the caller may not decide on it.
            PreconditionFailed: If it was changed since `version`.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        async with self._changes.write(KIND, principal, "pattern.approve") as change:
            before = await self._decidable(change, principal, pattern_id, version)
            if before.merged_into:
                raise Conflict(f"pattern `{pattern_id}` was merged into `{before.merged_into}`")
            stated = before.stated if confidence is None else confidence
            after = self._decided(
                principal, before, reason, status="validated", stated=stated, confidence=stated, followed=0, violated=0
            )
            await _replace(change, principal, before, after)
        return after

    async def retire(self, principal: Principal, pattern_id: str, *, reason: str, version: str | None) -> Pattern:
        """Take a pattern out of force, or decline a proposal. It stays stored, to prevent another proposal.

        Raises:
            Conflict: If it is changed at the same time.
            Forbidden: If the role may not retire.
            NotFound: If the caller may not decide on it.
            PreconditionFailed: If it was changed since `version`.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        async with self._changes.write(KIND, principal, "pattern.retire") as change:
            before = await self._decidable(change, principal, pattern_id, version)
            if before.status == "retired":
                change.unchanged()
                return before
            after = self._decided(principal, before, reason, status="retired")
            await _replace(change, principal, before, after)
        return after

    async def merge(
        self, principal: Principal, pattern_id: str, into: str, *, reason: str, version: str | None
    ) -> Pattern:
        """Retire a pattern in favour of another of its team, which gets its counts; return the other one.

        Raises:
            Conflict: If either is retired, or is changed at the same time.
            Forbidden: If the role may not merge.
            Invalid: If both are the same, or of two teams.
            NotFound: If the caller may not decide on one of them.
            PreconditionFailed: If the first was changed since `version`.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        if pattern_id == into:
            raise Invalid("into", "is the pattern itself")
        async with self._changes.write(KIND, principal, "pattern.merge") as change:
            before = await self._decidable(change, principal, pattern_id, version)
            target = await self._decidable(change, principal, into, "*")
            if target.team != before.team:
                raise Invalid("into", f"is a pattern of team `{target.team}`, not of `{before.team}`")
            for one in (before, target):
                if one.status == "retired":
                    raise Conflict(f"pattern `{one.id}` is retired")
            gone = self._decided(principal, before, reason, status="retired", merged_into=into)
            await _replace(change, principal, before, gone)
            after = msgspec.structs.replace(
                target,
                shown=target.shown + before.shown,
                followed=target.followed + before.followed,
                violated=target.violated + before.violated,
                version=target.version + 1,
            )
            await _replace(change, principal, target, after)
        return after

    async def _decidable(
        self, change: SqlChange, principal: Principal, pattern_id: str, version: str | None
    ) -> Pattern:
        reach = _reach(principal, "patterns.decide")
        found = await store.get(change.connection, principal.organisation, pattern_id)
        pattern = _theirs(principal, reach, found, pattern_id)
        check_if_match(version, pattern.version)
        return pattern

    @staticmethod
    def _decided(principal: Principal, before: Pattern, reason: str, **changes: object) -> Pattern:
        return msgspec.structs.replace(
            before,
            decided_at=datetime.now(UTC),
            decided_by=principal.user,
            reason=mask(reason),
            version=before.version + 1,
            **changes,
        )


def fit(likeness: float, asked: set[str], pattern: Pattern, *, by_meaning: bool) -> float:
    """Return a pattern's score for a string, from 0 to 1: its likeness in meaning, and the share of found words."""
    held = asked & set(stems(f"{pattern.signature} {pattern.text} {pattern.domain} {pattern.language}"))
    words = len(held) / len(asked) if asked else 0.0
    return _BY_MEANING * max(0.0, likeness) + (1 - _BY_MEANING) * words if by_meaning else words


def _reach(principal: Principal, action: str) -> Reach:
    """Return the reach of a permission; an agent's never exceeds its team."""
    found = require(principal, action)
    return "team" if principal.agent else found


def owning_team(principal: Principal, reach: Reach, team: str) -> str:
    """Return the team of a request: the caller's own; an admin may name another.

    Raises:
        Forbidden: If it is another team's.
        Invalid: If the caller is in no team, and names none.
    """
    if team and team != principal.team and reach != "organisation":
        raise Forbidden(f"patterns of team `{team}` are not yours; omit `team` for your own")
    owner = team or principal.team
    if not owner:
        raise Invalid("team", "is missing; you are in no team")
    return owner


def _readable_team(principal: Principal, team: str) -> str:
    """Return the team of a list, "" for all."""
    reach = _reach(principal, "patterns.read")
    return team if reach == "organisation" else owning_team(principal, reach, team)


def _theirs(principal: Principal, reach: Reach, found: Pattern | None, pattern_id: str) -> Pattern:
    if found is None or (reach != "organisation" and found.team != principal.team):
        raise NotFound(f"there is no pattern `{pattern_id}`")
    return found


def _require_globs(globs: tuple[str, ...]) -> None:
    try:
        any_path(globs)
    except ValueError as error:
        raise Invalid("globs", str(error)) from None


async def _replace(change: SqlChange, principal: Principal, before: Pattern, after: Pattern) -> None:
    if not await store.replace(change.connection, principal.organisation, after):
        raise Conflict(f"pattern `{after.id}` was changed at the same time; read it again")
    await change.audit(after.id, before=_shown(before), after=_shown(after), reason=after.reason)


def _shown(pattern: Pattern) -> dict[str, object]:
    """Return the audit log's part of a pattern."""
    return {
        "team": pattern.team,
        "signature": pattern.signature,
        "status": pattern.status,
        "confidence": pattern.confidence,
        "merged_into": pattern.merged_into,
    }
