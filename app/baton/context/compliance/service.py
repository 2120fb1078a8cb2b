"""Checks finished edits against the team's patterns, in the background: no hook waits for it.

The built-in evaluator handles patterns with a check. The others go to an external evaluator, if there is one: it reads
the topic `compliance-evaluate` and posts its result.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice

import msgspec
from uuid_utils import uuid7

from baton.context.advisories import Advisories, Advisory
from baton.context.compliance.evaluator import MOST_PATTERNS, applicable, judge, language_of
from baton.context.compliance.store import ComplianceStore, Evaluation
from baton.context.patterns import store as patterns_store
from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.index import IndexedPattern
from baton.context.patterns.pattern import LONGEST_MESSAGE, one_line
from baton.context.patterns.store import PatternCounts
from baton.events.emission import Emitter, natural_id
from baton.events.payloads import ApplicablePattern, ComplianceEvaluate, ComplianceEvaluated, ComplianceViolation
from baton.kernel.base.sql import Database, DatabaseUnavailable, StoreErrors
from baton.kernel.redis.client import RedisUnavailable
from baton.people.users import require
from baton.records.pipeline.recorder import Counters
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.edited_files import EditedText, edited_texts, within_project

log = logging.getLogger(__name__)

BUDGET_S = 0.3
"""Time limit of one edit's evaluation, in seconds."""
MOST_WAITING = 128
"""Maximum edits waiting for evaluation: some four megabytes. Further ones are dropped and counted."""
DEGRADED = "compliance"
_LONGEST_PATH = 120
EDITING_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "StrReplace", "apply_patch", "Bash"})
"""Tools with evaluated calls; of a shell's calls only those with a patch."""


class PatternViolation(msgspec.Struct, frozen=True, kw_only=True):
    """An external evaluator's finding on one pattern."""

    pattern_id: str
    violated: bool
    message: str = ""


class _Edit(msgspec.Struct, frozen=True):
    principal: Principal
    session_id: str
    project: str
    edited: EditedText


class Compliance:
    """A bounded queue of edits, and their evaluation."""

    def __init__(
        self,
        *,
        database: Database,
        store: ComplianceStore,
        in_force: PatternsInForce,
        advisories: Advisories,
        counts: PatternCounts,
        counters: Counters,
        emitter: Emitter,
        organisation: str,
        enabled: bool,
        external: bool,
    ) -> None:
        self._database = database
        self._store = store
        self._in_force = in_force
        self._advisories = advisories
        self._counts = counts
        self._counters = counters
        self._emitter = emitter
        self._organisation = organisation
        self._enabled = enabled
        self._external = external
        self._waiting: deque[_Edit] = deque()
        self.arrived = asyncio.Event()

    def submit(self, principal: Principal, call: ToolCall) -> None:
        """Queue the text written by a finished call. Never wait and never fail; if full, drop and count it."""
        if (
            not self._enabled
            or call.tool_name not in EDITING_TOOLS
            or not call.session_id
            or not self._in_force.count(principal.team)
        ):
            return
        for edited in edited_texts(call.tool_name, call.tool_input):
            if len(self._waiting) >= MOST_WAITING:
                self._missed()
                return
            relative = msgspec.structs.replace(edited, path=within_project(edited.path, call))
            self._waiting.append(_Edit(principal, call.session_id, call.project, relative))
            self.arrived.set()

    async def evaluate_queued(self, stop: asyncio.Event) -> None:
        """Evaluate queued edits one after the other until stopped."""
        while self._waiting and not stop.is_set():
            await self._evaluate_in_time(self._waiting.popleft())

    async def _evaluate_in_time(self, edit: _Edit) -> None:
        try:
            async with asyncio.timeout(BUDGET_S):
                await self._evaluate(edit)
        except (TimeoutError, RedisUnavailable, DatabaseUnavailable) as error:
            self._missed()
            log.warning("an edit was not checked against its team's patterns: %s", error or "it took too long")
        except Exception:
            self._missed()
            log.exception("an edit was not checked against its team's patterns")

    async def _evaluate(self, edit: _Edit) -> None:
        index = self._in_force.team(edit.principal.team)
        if index is None:
            return
        path = edit.edited.path
        # A team may have many patterns and RE2 reads the whole text: both run in a thread.
        concerned = await asyncio.to_thread(applicable, index.of_project(edit.project), path)
        wanted = [one for one in concerned if one.check or self._external][:MOST_PATTERNS]
        cooling = await self._store.cooling(edit.principal, edit.session_id, [one.id for one in wanted])
        asked = [one for one in wanted if one.id not in cooling]
        if not asked:
            return
        correlation_id = str(uuid7())
        elsewhere = [one.id for one in asked if not one.check]
        if elsewhere:
            elsewhere = await self._store.cool_down(edit.principal, edit.session_id, elsewhere)
            await self._expect(edit, correlation_id, elsewhere)
        asked = [one for one in asked if one.check or one.id in elsewhere]
        if asked:
            self._emit_request(edit, correlation_id, asked)
        judged = await asyncio.to_thread(judge, asked, edit.edited.text, whole=edit.edited.whole)
        if not judged:
            return
        for one in judged:
            self._counts.judged(one.pattern.id, violated=one.violated)
        # The cool-down starts with an advisory, not with a check: an edit that follows a pattern must not hide a later
        # violation.
        said = await self._store.cool_down(
            edit.principal, edit.session_id, [one.pattern.id for one in judged if one.violated]
        )
        violated = {one.pattern.id: one.pattern for one in judged if one.pattern.id in said}
        messages = await self._messages(edit.principal, list(violated.values()), path)
        await self._advise(edit.principal, edit.session_id, violated, messages)
        # An external evaluator answers the rest of the request with its own event.
        self._emit_result(
            edit.principal,
            edit.session_id,
            correlation_id,
            [_violation(one.pattern, messages.get(one.pattern.id, ""), violated=one.violated) for one in judged],
            who="built-in",
        )

    async def _expect(self, edit: _Edit, correlation_id: str, pattern_ids: Sequence[str]) -> None:
        if pattern_ids:
            who = edit.principal
            evaluation = Evaluation(who.organisation, who.team, who.user, who.job, edit.session_id, tuple(pattern_ids))
            await self._store.expect(correlation_id, evaluation)

    async def report(
        self, principal: Principal, correlation_id: str, violations: Sequence[PatternViolation]
    ) -> int | None:
        """Process the result of an external evaluation; return the number of advisories.

        None is returned if no evaluation of this id waits: its result arrived before, or more than an hour ago. Only
        patterns of the request count, in the team's own words: an evaluator adds only a message.

        Raises:
            Forbidden: If the role may not report.
            StoreUnavailable: If Redis is unavailable; the result may be sent again.
        """
        require(principal, "compliance.report")
        return await self.receive(correlation_id, violations)

    async def receive(self, correlation_id: str, violations: Sequence[PatternViolation]) -> int | None:
        """Process a result like `report`, from a writer to the server's own Redis. Raise StoreUnavailable."""
        with StoreErrors("redis is unavailable; send the result again"):
            waiting = await self._store.pop(correlation_id)
            if waiting is None or waiting.organisation != self._organisation:
                return None
            index = self._in_force.team(waiting.team)
            known = {
                one.pattern_id: (pattern, one)
                for one in violations
                if one.pattern_id in waiting.pattern_ids
                and index is not None
                and (pattern := index.get(one.pattern_id)) is not None
            }
            violated = {id_: pattern for id_, (pattern, one) in known.items() if one.violated}
            messages = {id_: one_line(one.message, LONGEST_MESSAGE) for id_, (_, one) in known.items()}
            await self._advise(waiting.principal, waiting.session_id, violated, messages)
        for id_, (_, one) in known.items():
            self._counts.judged(id_, violated=one.violated)
        self._emit_result(
            waiting.principal,
            waiting.session_id,
            correlation_id,
            [_violation(pattern, messages[id_], violated=one.violated) for id_, (pattern, one) in known.items()],
            who="external",
        )
        return len(violated)

    async def _messages(self, principal: Principal, violated: Sequence[IndexedPattern], path: str) -> dict[str, str]:
        """Return the text about each violated pattern: its check's message, else its own text; and the file."""
        silent = [one.id for one in violated if not one.check.message]
        stored = (
            await patterns_store.with_ids(self._database, principal.organisation, principal.team, silent)
            if silent
            else {}
        )
        texts = {one.id: one.check.message or (stored[one.id].text if one.id in stored else "") for one in violated}
        where = f"`{one_line(path, _LONGEST_PATH)}`"
        return {id_: one_line(f"{where}: {text}" if text else where, LONGEST_MESSAGE) for id_, text in texts.items()}

    async def _advise(
        self, principal: Principal, session_id: str, violated: Mapping[str, IndexedPattern], messages: Mapping[str, str]
    ) -> None:
        await self._advisories.add(
            principal,
            session_id,
            [
                Advisory(
                    pattern_id=id_, signature=one.signature, confidence=one.confidence, message=messages.get(id_, "")
                )
                for id_, one in violated.items()
            ],
        )

    def _emit_request(self, edit: _Edit, correlation_id: str, asked: Sequence[IndexedPattern]) -> None:
        self._emitter.emit(
            edit.principal,
            ComplianceEvaluate(
                session_id=edit.session_id,
                correlation_id=correlation_id,
                source_path=edit.edited.path,
                content=edit.edited.text,
                language=language_of(edit.edited.path),
                applicable_patterns=tuple(
                    ApplicablePattern(
                        pattern_id=one.id,
                        pattern_signature=one.signature,
                        domain_id=one.domain,
                        confidence=one.confidence,
                    )
                    for one in islice(asked, MOST_PATTERNS)
                ),
            ),
        )

    def _emit_result(
        self,
        principal: Principal,
        session_id: str,
        correlation_id: str,
        violations: Sequence[ComplianceViolation],
        *,
        who: str,
    ) -> None:
        self._emitter.emit(
            principal,
            ComplianceEvaluated(session_id=session_id, correlation_id=correlation_id, violations=tuple(violations)),
            event_id=natural_id("compliance-evaluated", correlation_id, who),
        )

    def _missed(self) -> None:
        self._counters.degraded[DEGRADED] += 1


def _violation(pattern: IndexedPattern, message: str, *, violated: bool) -> ComplianceViolation:
    return ComplianceViolation(
        violated=violated,
        pattern_id=pattern.id,
        pattern_signature=pattern.signature,
        domain_id=pattern.domain,
        confidence=pattern.confidence,
        message=message,
    )
