"""Explains a recorded decision: asks the rules of its time again about the stored call.

The record is the truth; asking again only adds why the other rules did not match. If the record is incomplete,
`missing` says so, and nothing is made up.
"""

import asyncio
from typing import Any

import msgspec

from baton.decide.api import ShellView, shell_view
from baton.kernel.base.errors import Invalid, NotFound, PoliciesRefused
from baton.lib.bash.model import Shell
from baton.lib.bash.read import read
from baton.lib.bash.spans import Span, WordPlaces
from baton.modes.service import Modes
from baton.policies.in_force import Policies
from baton.policies.layers import set_of
from baton.records.review.decisions import DecisionFilter, Decisions
from baton.rules.call.call import Principal
from baton.rules.call.modes import ModeSetting
from baton.rules.call.record import Record
from baton.rules.call.verdict import Facts, HitEffect, Verdict
from baton.rules.policy.drafts import RuleDraft, Way, draft
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.explain import RuleTrace, explain, findings
from baton.rules.policy.load import PolicySet
from baton.rules.policy.matching.rule import Rule
from baton.rules.policy.replay import HISTORY, Replayer, principal_of

_EARLIER = 50
"""Decisions of the session that are looked at for the agent's history."""
_STOPS = frozenset({"deny", "ask"})
_NO_REVISION = "the rules of this revision are unavailable: they were not stored, or contain a layer you may not read"
_DIFFERS = "the record is incomplete: the same rules decide otherwise; rules without a hit are not explained"


class ExplainedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, its recorded effect ("" for none), and why it did not match, "" if unknown."""

    trace: RuleTrace
    effect: HitEffect | str = ""


class ProgramInLine(msgspec.Struct, frozen=True, kw_only=True):
    """A program run by the line. `span` is absent for one outside the line, such as a variable's value.

    `depth` is 0 in the line itself; it grows with each wrapper, substitution and nested script. `guess` is True for
    commands possibly run by an unknown program.
    """

    argv: tuple[str, ...]
    depth: int
    categories: tuple[str, ...]
    guess: bool
    span: Span | None


class ReadLine(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed shell line. `risky` are the parts found by the deciding rule."""

    text: str
    shell: ShellView
    programs: list[ProgramInLine]
    risky: list[Span]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The known facts of a decision. `missing` lists the unexplained parts, with reasons."""

    record: Record
    rules: list[ExplainedRule]
    line: ReadLine | None
    mode_settings: tuple[ModeSetting, ...]
    verdict: Verdict | None
    missing: list[str]


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded call judged again. `facts` is None if too little of it is stored."""

    policies: PolicySet
    facts: Facts | None = None
    shell: Shell | None = None
    verdict: Verdict | None = None
    trace: list[RuleTrace] = []


class Explanations:
    """Explains decisions visible to a principal."""

    def __init__(self, decisions: Decisions, policies: Policies, modes: Modes) -> None:
        self._decisions = decisions
        self._policies = policies
        self._modes = modes

    async def get(self, principal: Principal, decision_id: str) -> Explanation:
        """Return the explanation of a decision.

        Raises:
            NotFound: If the decision is unknown, or hidden from the principal.
            StoreUnavailable: If the database is unavailable.
        """
        record = await self._decisions.get(principal, decision_id)
        asked, missing = await self._ask_again(principal, record)
        whose = principal_of(record)
        return Explanation(
            record=record,
            rules=_explained(record, asked),
            line=await asyncio.to_thread(_line, record, asked) if record.command else None,
            mode_settings=self._modes.effective(whose, record.project, record.session_id).chain,
            verdict=asked.verdict if asked is not None else None,
            missing=missing,
        )

    async def draft(self, principal: Principal, decision_id: str, way: Way) -> RuleDraft:
        """Return a rule test for a decision, and a starting rule with that test.

        A locked rule cannot be changed, so `change` becomes `own` there.

        Raises:
            Invalid: If too little of the call is stored.
            NotFound: If the decision is unknown, or hidden from the principal.
            StoreUnavailable: If the database is unavailable.
        """
        record = await self._decisions.get(principal, decision_id)
        asked, missing = await self._ask_again(principal, record)
        if asked is None or asked.facts is None:
            raise Invalid("decision_id", f"is a decision without enough data for a test: {missing[0]}")
        stopped_by = next((hit.id for hit in record.rules if hit.effect == record.effect and hit.effect in _STOPS), "")
        rules: dict[str, Rule] = {rule.id: rule for rule in asked.policies.rules}
        if way == "change" and stopped_by in asked.policies.locks.locked:
            way = "own"
        return draft(asked.facts, record.command, asked.shell, rules.get(stopped_by), way)

    async def _ask_again(self, principal: Principal, record: Record) -> tuple[_Asked | None, list[str]]:
        """Ask the rules of a record's revision about its call. Also return the reasons for gaps."""
        if record.event != "PreToolUse":
            return None, [f"it is no tool call: no rule is asked about `{record.event}`"]
        try:
            policies = await set_of(await self._policies.texts(principal, record.revision))
        except NotFound:
            return None, [_NO_REVISION]
        except PoliciesRefused as refused:
            return None, [f"this version of Baton cannot read the rules of this revision: {refused.detail}"]
        replayer = Replayer()
        for earlier in await self._earlier(principal, record):
            replayer.facts(policies, earlier)
        lifted = frozenset(hit.id for hit in record.rules if hit.effect == "lifted")
        facts = replayer.facts(policies, msgspec.structs.replace(record, overridden=record.overridden and not lifted))
        if isinstance(facts, str):
            return _Asked(policies=policies), [facts]
        facts = msgspec.structs.replace(facts, lifted=lifted)
        verdict = await asyncio.to_thread(evaluate, policies, facts)
        if (verdict.effect, set(verdict.hits)) != (record.effect, set(record.rules)):
            return _Asked(policies=policies, facts=facts, shell=verdict.shell), [_DIFFERS]
        trace = await asyncio.to_thread(explain, policies, facts)
        return _Asked(policies=policies, facts=facts, shell=verdict.shell, verdict=verdict, trace=trace), []

    async def _earlier(self, principal: Principal, record: Record) -> list[Record]:
        """Return the same agent's earlier calls in the session, oldest first."""
        if not record.session_id:
            return []
        wanted = DecisionFilter(
            session_id=record.session_id,
            user=record.user,
            event="PreToolUse",
            until=record.at,
            agent_id=record.agent_id,
        )
        found, _ = await self._decisions.find(principal, wanted, "", _EARLIER)
        same = [one for one in found if one.agent_id == record.agent_id]
        return same[:HISTORY][::-1]


def _explained(record: Record, asked: _Asked | None) -> list[ExplainedRule]:
    """Return the rules with a hit, in the order of their weight, then the others."""
    traces = {one.id: one for one in asked.trace} if asked is not None else {}
    rules = {rule.id: rule for rule in asked.policies.rules} if asked is not None else {}
    found = []
    for hit in record.rules:
        rule = rules.get(hit.id)
        known = RuleTrace(id=hit.id, decision=rule.decision if rule is not None else "", matched=True)
        found.append(ExplainedRule(trace=traces.pop(hit.id, known), effect=hit.effect))
    return found + [ExplainedRule(trace=trace) for trace in traces.values()]


def _line(record: Record, asked: _Asked | None) -> ReadLine | None:
    """Return a record's line with the places of its programs; None if its parse is unknown."""
    if asked is None or asked.policies.config.shell_tools.get(record.tool) is None:
        return None
    facts, policies = asked.facts, asked.policies
    shell = asked.shell or read(policies.tables, record.command)
    words = WordPlaces(record.command)
    programs = [
        ProgramInLine(
            argv=one.argv, depth=one.depth, categories=one.categories, guess=one.guess, span=words.program(one)
        )
        for one in shell.programs
    ]
    risky: list[Span] = []
    if facts is not None and record.rules:
        decided_by = next((hit.id for hit in record.rules if hit.effect == record.effect), record.rules[0].id)
        rule = next((one for one in policies.rules if one.id == decided_by), None)
        risky = _risky(programs, shell, words, findings(policies, rule, facts) if rule is not None else {})
    return ReadLine(text=record.command, shell=shell_view(shell), programs=programs, risky=risky)


def _risky(programs: list[ProgramInLine], shell: Shell, words: WordPlaces, found: dict[str, Any]) -> list[Span]:
    """Return the parts of the line a rule matched: a command, a pipe's two ends, or written content."""
    names = [one.name for one in shell.programs]
    indexes: list[int] = []
    if command := found.get("command"):
        indexes = [next((at for at, one in enumerate(programs) if " ".join(one.argv)[:120] == command), -1)]
    elif sink := found.get("sink"):
        indexes = next(([a, b] for a, b in shell.feeds if (names[a], names[b]) == (found.get("program"), sink)), [])
    elif target := found.get("target"):
        by = next((one.by for one in shell.writes if one.target == target), -1)
        place = words.word(target)
        if by < 0:
            return [place] if place is not None else []
        indexes = [by]
    spans = [programs[at].span for at in indexes if at >= 0]
    return [span for span in spans if span is not None]
