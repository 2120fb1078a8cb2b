"""Puts a team's patterns into its sessions: at the start, else at the first prompt, and once for all servers."""

import asyncio
import time
from typing import NamedTuple

import msgspec
from uuid_utils import uuid7

from baton.context.patterns import store
from baton.context.patterns.counts import PatternCounts
from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.meanings import Meanings
from baton.context.patterns.pattern import LEAST_CONFIDENCE, Pattern
from baton.context.patterns.rendering import HEADING, rendered
from baton.engine.call.principal import Principal
from baton.events.emitting.emission import Emitter
from baton.events.payloads.context import (
    ContextInjected,
    ContextRetrievalCompleted,
    ContextRetrievalRequested,
    InjectionRecorded,
)
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.session_keys import session_tag

START_BUDGET_S = 0.5
"""Longest that a starting session waits for its patterns, in seconds. Seed 004, as are the numbers below."""
AT_START, LONGEST_AT_START = 10, 8_000
"""Patterns, and characters of the whole section with its heading, at a session's start."""
AT_PROMPT, LONGEST_AT_PROMPT = 5, 4_000
"""Patterns, and characters of the text, at a prompt. The number of characters leaves room for the route."""
DEGRADED = "patterns"
ANEW = frozenset({"clear", "compact"})
"""Sources of a session's start whose context has lost what was put in before."""
_HEADING = f"## {HEADING}\n\n"


class PatternsUnavailable(Exception):
    """Redis or the database is away, so that patterns cannot be put in, or not surely once."""


class _About(NamedTuple):
    place: str
    correlation_id: str


class PatternInjection:
    """Chooses and hands out patterns. A marker in Redis for each session holds the ids of those that it was given."""

    def __init__(
        self,
        *,
        database: Database,
        redis: Redis,
        in_force: PatternsInForce,
        meanings: Meanings,
        counts: PatternCounts,
        emitter: Emitter,
        lifetime_s: int,
    ) -> None:
        self._database = database
        self._redis = redis
        self._in_force = in_force
        self._meanings = meanings
        self._counts = counts
        self._emitter = emitter
        self._lifetime_s = lifetime_s

    async def at_start(
        self, principal: Principal, session_id: str, project: str, *, source: str, room: int
    ) -> tuple[str, tuple[str, ...]]:
        """Return the section for a session that starts, "" for none; and what was unavailable.

        Args:
            principal: Whose session it is; the patterns are those of their team.
            session_id: The session; without an id it gets none, as it could get them twice.
            project: The project that the session is pinned to.
            source: Why it starts. Where its context was lost it gets them again.
            room: Bytes that the client still passes on.
        """
        if not self._concerns(principal, session_id):
            return "", ()
        longest = min(LONGEST_AT_START, room) - len(_HEADING)
        try:
            async with asyncio.timeout(START_BUDGET_S):
                text = await self._give(
                    principal,
                    session_id,
                    project,
                    "",
                    AT_START,
                    longest,
                    anew=source in ANEW,
                    about=_About("session_start", str(uuid7())),
                )
        except (TimeoutError, PatternsUnavailable):
            return "", (DEGRADED,)
        return (_HEADING + text if text else ""), ()

    async def for_prompt(
        self, principal: Principal, session_id: str, project: str, prompt: str, *, correlation_id: str
    ) -> str:
        """Return the text of the section for a prompt; "" for none, also if the session has been given patterns.

        Raises:
            PatternsUnavailable: Redis or the database is away.
        """
        if not self._concerns(principal, session_id):
            return ""
        return await self._give(
            principal,
            session_id,
            project,
            prompt,
            AT_PROMPT,
            LONGEST_AT_PROMPT,
            anew=False,
            about=_About("user_prompt", correlation_id),
        )

    async def given(self, principal: Principal, session_id: str) -> frozenset[str]:
        """Return the ids of the patterns that a session was given. Raise RedisUnavailable."""
        held = await self._redis.call(b"GET", _marker(principal, session_id))
        return frozenset((held or b"").decode().split(","))

    def _concerns(self, principal: Principal, session_id: str) -> bool:
        return session_id != "" and self._in_force.count(principal.team) > 0

    async def _give(
        self,
        principal: Principal,
        session_id: str,
        project: str,
        prompt: str,
        most: int,
        longest: int,
        *,
        anew: bool,
        about: _About,
    ) -> str:
        started = time.perf_counter()
        marker = _marker(principal, session_id)
        try:
            if not anew and await self._redis.call(b"EXISTS", marker):
                return ""
            self._emitter.emit(
                principal,
                ContextRetrievalRequested(
                    session_id=session_id,
                    correlation_id=about.correlation_id,
                    context_source=about.place,
                    min_confidence_threshold=LEAST_CONFIDENCE,
                ),
            )
            best = await self._best(principal, project, prompt, most)
            took_ms = round((time.perf_counter() - started) * 1000, 3)
            text, shown = rendered(best, longest)
            # The marker is set last and only once: of two prompts at a time one shows what both have found.
            ids = ",".join(one.id for one in shown)
            once: tuple[str, ...] = () if anew else ("NX",)
            if not shown or not await self._redis.call(b"SET", marker, ids, "EX", self._lifetime_s, *once):
                text, shown = "", []
        except (RedisUnavailable, DatabaseUnavailable) as error:
            raise PatternsUnavailable from error
        self._tell(principal, session_id, about, text, shown, found=len(best), took_ms=took_ms)
        return text

    async def _best(self, principal: Principal, project: str, prompt: str, most: int) -> list[Pattern]:
        vector = await self._meanings.vector(prompt) if prompt else None
        found = await self._in_force.best(principal.team, vector, project, most)
        ids = [one.pattern.id for one in found]
        stored = await store.with_ids(self._database, principal.organisation, principal.team, ids)
        # Another server may have retired one a moment ago: what is stored counts.
        return [pattern for one in ids if (pattern := stored.get(one)) is not None and pattern.in_force]

    def _tell(
        self,
        principal: Principal,
        session_id: str,
        about: _About,
        text: str,
        shown: list[Pattern],
        *,
        found: int,
        took_ms: float,
    ) -> None:
        of_all = {
            "session_id": session_id,
            "correlation_id": about.correlation_id,
            "context_source": about.place,
            "min_confidence_threshold": LEAST_CONFIDENCE,
            "retrieval_duration_ms": took_ms,
        }
        self._emitter.emit(principal, msgspec.convert(of_all | {"pattern_count": found}, ContextRetrievalCompleted))
        if not shown:
            return
        ids = tuple(one.id for one in shown)
        self._counts.shown(ids)
        sized = {"pattern_count": len(shown), "context_size_bytes": len(text.encode("utf-8", "replace"))}
        self._emitter.emit(principal, msgspec.convert(of_all | sized, ContextInjected))
        self._emitter.emit(
            principal,
            InjectionRecorded(
                session_id=session_id,
                correlation_id=about.correlation_id,
                injection_id=str(uuid7()),
                context_source=about.place,
                pattern_ids=ids,
                injected_count=len(ids),
            ),
        )


def _marker(principal: Principal, session_id: str) -> bytes:
    return b"baton:patterns:" + session_tag(principal, session_id)
