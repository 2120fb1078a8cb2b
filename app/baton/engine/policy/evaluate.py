"""Decides one call: `deny > ask > rewrite > allow > abstain`, whatever the order of rules. It reads nothing but its arguments."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from baton.engine.call.verdict import EVERY, Facts, RuleHit, Verdict
from baton.engine.policy.rules import wording
from baton.engine.policy.rules.call_reading import Findings, OpenRule, Outcome, live_rules
from baton.engine.policy.rules.context import Context, Policies
from baton.engine.policy.rules.policy_set import PolicySet
from baton.engine.policy.rules.rule import Rule, RuleCandidate

_Effect = Literal["deny", "ask", "rewrite", "allow", "guidance"]
_Hit = tuple[Rule, _Effect, dict[str, str]]
_RANK: dict[_Effect, int] = {"deny": 5, "ask": 4, "rewrite": 3, "guidance": 2, "allow": 1}


def evaluate(policies: PolicySet, facts: Facts) -> Verdict:
    """Decide a call by all rules that concern it, and what rewrites make of it: nobody is asked about that again."""
    context = Context(policies, facts)
    verdict = _decide(context)
    if verdict.updated_input is None:
        return verdict
    changed = Context(policies, _with_input(facts, verdict.updated_input))
    changed.spent = context.spent
    return _unless_refused(verdict, _decide(changed))


def rewritten(policies: PolicySet, facts: Facts) -> Facts:
    """Give the facts with what rewrites make of the call, the same ones where none changes it."""
    changed = _decide(Context(policies, facts)).updated_input
    return facts if changed is None else _with_input(facts, changed)


def _with_input(facts: Facts, tool_input: dict[str, Any]) -> Facts:
    return msgspec.structs.replace(facts, call=msgspec.structs.replace(facts.call, tool_input=tool_input))


def _unless_refused(verdict: Verdict, changed: Verdict) -> Verdict:
    """Give what the changed call gets, where that is a refusal or question stronger than what the call itself got."""
    if changed.effect not in ("deny", "ask") or changed.effect == verdict.effect:
        return verdict
    asks = changed.effect == "ask"
    return msgspec.structs.replace(
        changed,
        hits=(*changed.hits, *(hit for hit in verdict.hits if hit not in changed.hits)),
        updated_input=verdict.updated_input if asks else None,
        message=verdict.message if asks else "",
        shell=verdict.shell,
    )


def _decide(context: Context) -> Verdict:
    live = live_rules(context)
    found = tuple([_asked(context, one) for one in live.open]) if live.open else ()
    facts = context.facts
    outcome = None if facts.lifted else live.outcomes.get(found)
    if outcome is None:
        outcome = _outcome(context, live.rules, iter(found))
        if not facts.lifted:
            live.keep(found, outcome)
    return _verdict(context, outcome)


def _asked(context: Context, candidate: RuleCandidate) -> Findings:
    context.found = {}
    return tuple(context.found.items()) if candidate.matches(context) else None


def _outcome(context: Context, rules: tuple[OpenRule, ...], asked: Iterator[Findings]) -> Outcome:
    call, facts = context.call, context.facts
    common = {"tool": call.tool_name, "task_tool": wording.task_tool(call.client)}
    hits: list[_Hit] = []
    shadows: list[RuleHit] = []
    for candidate, settled in rules:
        found = next(asked) if settled is None else settled
        if found is None:
            continue
        rule = candidate.rule
        if rule.shadow:
            shadows.append(RuleHit(rule.id, "shadow"))
        elif facts.lifted and _is_lifted(context.policies, rule, facts.lifted):
            shadows.append(RuleHit(rule.id, "lifted"))
        else:
            hits.append((rule, _effect(rule, facts), common | dict(found)))
    return _weighed(context, hits, shadows) if hits else Outcome(hits=tuple(shadows))


def _is_lifted(policies: Policies, rule: Rule, lifted: frozenset[str]) -> bool:
    named = rule.id in lifted or (EVERY in lifted and bool(rule.modes))
    return named and rule.id not in policies.config.locked


def _effect(rule: Rule, facts: Facts) -> _Effect:
    if rule.modes and facts.level == "guidance" and rule.decision in ("deny", "ask"):
        return "guidance"
    return rule.decision


def _rank(hit: _Hit) -> int:
    return _RANK[hit[1]]


def _weighed(context: Context, hits: list[_Hit], shadows: list[RuleHit]) -> Outcome:
    rule, effect, found = max(hits, key=_rank) if len(hits) > 1 else hits[0]
    if effect != "allow" and len(hits) > 1:
        hits = [hit for hit in hits if hit[1] != "allow"]
    context.found = found
    reason, suggestion = wording.fill(rule.reason, found), rule.suggestion(context)
    guidance = wording.allowed(reason) if effect == "allow" else ""
    if effect != "deny" and context.facts.level == "guidance":
        guidance, suggestion = _softened(context, hits, effect, guidance, suggestion)
    changes, message = ({}, "") if effect == "deny" else _rewrite(context, hits)
    return Outcome(
        effect="allow" if effect == "guidance" else effect,
        rule=rule.id,
        hits=(*[RuleHit(hit.id, hit_effect) for hit, hit_effect, _ in hits], *shadows),
        reason=_around(rule, effect, reason, suggestion, context.call.client),
        guidance=guidance,
        suggestion=suggestion,
        changes=changes,
        message=message,
    )


def _softened(context: Context, hits: list[_Hit], effect: _Effect, guidance: str, suggestion: str) -> tuple[str, str]:
    """Put the first refusal that the guidance level softened in the place of a weaker rule's words."""
    hit = next((hit for hit in hits if hit[1] == "guidance"), None)
    if hit is None:
        return guidance, suggestion
    rule, _, context.found = hit
    return (
        wording.softened(wording.fill(rule.reason, context.found)),
        suggestion if effect == "ask" else rule.suggestion(context),
    )


def _rewrite(context: Context, hits: list[_Hit]) -> tuple[dict[str, Any], str]:
    changes: dict[str, Any] = {}
    messages: list[str] = []
    locked = context.policies.config.locked
    for rule, effect, found in sorted(hits, key=lambda hit: hit[0].id not in locked) if locked else hits:
        if effect == "rewrite":
            context.found = found
            changes = rule.changes(context) | changes
            messages.append(wording.fill(rule.reason, found))
    return changes, "\n".join(messages)


def _around(rule: Rule, effect: _Effect, reason: str, suggestion: str, client: str) -> wording.Frame | None:
    if effect == "deny":
        by_mode = bool(rule.modes)
        return (
            wording.orchestrator_deny(reason, suggestion, client)
            if by_mode
            else wording.deny(rule.id, reason, suggestion)
        )
    return wording.ask(reason, suggestion, client) if effect == "ask" else None


def _verdict(context: Context, outcome: Outcome) -> Verdict:
    call = context.call
    reason = ""
    if outcome.reason is not None:
        before, after = outcome.reason
        reason = f"{before}{wording.where(outcome.rule, call)}{after}"
    return Verdict(
        effect=outcome.effect,
        rule=outcome.rule,
        hits=outcome.hits,
        reason=reason,
        guidance=outcome.guidance,
        suggestion=outcome.suggestion,
        updated_input=call.tool_input | outcome.changes if outcome.changes else None,
        message=outcome.message,
        shell=context.shell,
        blind=tuple(sorted(context.blind)) if context.blind else (),
        errors=tuple(sorted(context.errors)) if context.errors else (),
    )
