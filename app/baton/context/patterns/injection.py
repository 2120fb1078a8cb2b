"""Adds a team's patterns to its sessions: at the start, else at the first prompt, once among all servers."""

import asyncio
from collections.abc import Sequence

from baton.context.patterns import store
from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.index import Meanings
from baton.context.patterns.pattern import Pattern
from baton.context.patterns.store import PatternCounts
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.redis.client import Redis, RedisUnavailable, session_tag
from baton.rules.call.call import Principal

# Patterns as lines of the section "Context Patterns".

HEADING = "Context Patterns"
_INTRO = "Patterns of this team. Follow them unless the person says otherwise."


def percent(confidence: float) -> str:
    """Return a confidence as whole percents."""
    return f"{confidence * 100:.0f}%"


def rendered(patterns: Sequence[Pattern], longest: int) -> tuple[str, list[Pattern]]:
    """Return the section's text, and the patterns in it; both empty if none fits.

    Patterns are added in order. One that does not fit is omitted whole, and later smaller ones may still fit.

    Args:
        patterns: The patterns, the most valuable first.
        longest: Maximum characters and bytes of UTF-8 of the text.
    """
    lines, shown = [_INTRO, ""], list[Pattern]()
    left = longest - _size(_INTRO) - 1
    for one in patterns:
        line = _line(one)
        if _size(line) + 1 <= left:
            left -= _size(line) + 1
            lines.append(line)
            shown.append(one)
    return ("\n".join(lines), shown) if shown else ("", [])


def _line(pattern: Pattern) -> str:
    head = f"- **{pattern.signature}** ({percent(pattern.confidence)} confidence)"
    # Indented, the text's own lines stay within the item.
    return head + (": " + pattern.text.replace("\n", "\n  ") if pattern.text else "")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


START_BUDGET_S = 0.5
"""Time limit of a starting session for its patterns, in seconds."""
AT_START, LONGEST_AT_START = 10, 8_000
"""Maximum patterns, and characters of the whole section with its heading, at a session's start."""
AT_PROMPT, LONGEST_AT_PROMPT = 5, 4_000
"""Maximum patterns, and characters of the text, at a prompt. The limit leaves room for the route."""
DEGRADED = "patterns"
ANEW = frozenset({"clear", "compact"})
"""Sources of a session's start with a lost context."""
_HEADING = f"## {HEADING}\n\n"


class PatternsUnavailable(Exception):
    """Redis or the database is unavailable, so patterns cannot be added, or not surely once."""


class PatternInjection:
    """Selects patterns for sessions. A marker in Redis for each session contains the ids of those given."""

    def __init__(
        self,
        *,
        database: Database,
        redis: Redis,
        in_force: PatternsInForce,
        meanings: Meanings,
        counts: PatternCounts,
        lifetime_s: int,
    ) -> None:
        self._database = database
        self._redis = redis
        self._in_force = in_force
        self._meanings = meanings
        self._counts = counts
        self._lifetime_s = lifetime_s

    async def at_start(
        self, principal: Principal, session_id: str, project: str, *, source: str, room: int
    ) -> tuple[str, tuple[str, ...]]:
        """Return the section for a starting session, or "", and the unavailable services.

        Args:
            principal: The session's owner; the patterns are their team's.
            session_id: The session; without an id it gets none, to avoid duplicates.
            project: The session's pinned project.
            source: The reason for the start. After a lost context the patterns are given again.
            room: Bytes the client still accepts.
        """
        if not self._concerns(principal, session_id):
            return "", ()
        longest = min(LONGEST_AT_START, room) - len(_HEADING)
        try:
            async with asyncio.timeout(START_BUDGET_S):
                text = await self._give(principal, session_id, project, "", AT_START, longest, anew=source in ANEW)
        except (TimeoutError, PatternsUnavailable):
            return "", (DEGRADED,)
        return (_HEADING + text if text else ""), ()

    async def for_prompt(self, principal: Principal, session_id: str, project: str, prompt: str) -> str:
        """Return the text of the section for a prompt; "" if there is none, or the session already has patterns.

        Raises:
            PatternsUnavailable: Redis or the database is unavailable.
        """
        if not self._concerns(principal, session_id):
            return ""
        return await self._give(principal, session_id, project, prompt, AT_PROMPT, LONGEST_AT_PROMPT, anew=False)

    async def given(self, principal: Principal, session_id: str) -> frozenset[str]:
        """Return the ids of the patterns given to a session. Raise RedisUnavailable."""
        held = await self._redis.call(b"GET", _marker(principal, session_id))
        return frozenset((held or b"").decode().split(","))

    def _concerns(self, principal: Principal, session_id: str) -> bool:
        return session_id != "" and self._in_force.count(principal.team) > 0

    async def _give(
        self, principal: Principal, session_id: str, project: str, prompt: str, most: int, longest: int, *, anew: bool
    ) -> str:
        marker = _marker(principal, session_id)
        try:
            if not anew and await self._redis.call(b"EXISTS", marker):
                return ""
            best = await self._best(principal, project, prompt, most)
            text, shown = rendered(best, longest)
            # The marker is set last and only once: of two simultaneous prompts only one shows the patterns found by
            # both.
            ids = ",".join(one.id for one in shown)
            once: tuple[str, ...] = () if anew else ("NX",)
            if not shown or not await self._redis.call(b"SET", marker, ids, "EX", self._lifetime_s, *once):
                text, shown = "", []
        except (RedisUnavailable, DatabaseUnavailable) as error:
            raise PatternsUnavailable from error
        self._counts.shown(tuple(one.id for one in shown))
        return text

    async def _best(self, principal: Principal, project: str, prompt: str, most: int) -> list[Pattern]:
        vector = await self._meanings.vector(prompt) if prompt else None
        found = await self._in_force.best(principal.team, vector, project, most)
        ids = [one.pattern.id for one in found]
        stored = await store.with_ids(self._database, principal.organisation, principal.team, ids)
        # Another server may have just retired one: the stored state counts.
        return [pattern for one in ids if (pattern := stored.get(one)) is not None and pattern.in_force]


def _marker(principal: Principal, session_id: str) -> bytes:
    return b"{baton}:patterns:" + session_tag(principal, session_id)
