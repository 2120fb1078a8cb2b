"""Decide one tool call by all rules that concern it: deny, else ask, else rewrite, else allow, else no opinion."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from baton.engine.call.agent_tools import may_rewrite
from baton.engine.call.client_words import words_of
from baton.engine.call.verdict import EVERY, Facts, RuleHit, Verdict
from baton.engine.policy.matching import wording
from baton.engine.policy.matching.call_reading import Findings, Outcome, live_rules
from baton.engine.policy.matching.context import Context, Policies
from baton.engine.policy.matching.policy_set import PolicySet
from baton.engine.policy.matching.rule import GUESS, LiveRule, Rule

_Effect = Literal["deny", "ask", "rewrite", "allow", "guidance"]
_Match = tuple[Rule, _Effect, dict[str, str]]
"""A rule that matched, the effect that it has, and what it found, by placeholder."""
_RANK: dict[_Effect, int] = {"deny": 5, "ask": 4, "rewrite": 3, "guidance": 2, "allow": 1}


def evaluate(policies: PolicySet, facts: Facts) -> Verdict:
    """Return the verdict on a call. What a rewrite makes of the call is judged too, and may be refused."""
    context = Context(policies, facts)
    verdict = _judge(context)
    if verdict.updated_input is None:
        return verdict
    # Judged once more, not until nothing changes: two rewrites that undo each other would never end.
    rewritten_context = Context(policies, _with_input(facts, verdict.updated_input))
    rewritten_context.spent = context.spent
    return _stricter(verdict, _judge(rewritten_context))


def rewritten(policies: PolicySet, facts: Facts) -> Facts:
    """Return the facts of the call as the rewrites change it; the same object where none does."""
    changed = _judge(Context(policies, facts)).updated_input
    return facts if changed is None else _with_input(facts, changed)


def _with_input(facts: Facts, tool_input: dict[str, Any]) -> Facts:
    return msgspec.structs.replace(facts, call=msgspec.structs.replace(facts.call, tool_input=tool_input))


def _stricter(verdict: Verdict, rewritten_verdict: Verdict) -> Verdict:
    """Return the verdict on the rewritten call if it refuses or asks where the call's own verdict does not."""
    if rewritten_verdict.effect not in ("deny", "ask") or rewritten_verdict.effect == verdict.effect:
        return verdict
    asks = rewritten_verdict.effect == "ask"
    return msgspec.structs.replace(
        rewritten_verdict,
        hits=(*rewritten_verdict.hits, *(hit for hit in verdict.hits if hit not in rewritten_verdict.hits)),
        updated_input=verdict.updated_input if asks else None,
        message=verdict.message if asks else "",
        notice=verdict.notice if asks else "",
        shell=verdict.shell,
        model=verdict.model,
    )


def _judge(context: Context) -> Verdict:
    """Ask the rules that the call's reading leaves open, and weigh all that match.

    The weighing is remembered with the reading: it depends on nothing but what the open rules found.
    """
    live = live_rules(context)
    findings = tuple([_ask(context, one) for one in live.open]) if live.open else ()
    # What a person lifted or accepts differs between sessions; the cache does not, so such calls go round it.
    if context.facts.lifted or context.facts.accepts_rewrites:
        return _verdict(context, _weigh(context, *_matches(context, live.rules, iter(findings))))
    verdict = live.verdicts.get(findings)
    if verdict is not None and not context.blind and not context.errors:
        return verdict
    outcome = live.outcomes.get(findings)
    if outcome is None:
        outcome = _weigh(context, *_matches(context, live.rules, iter(findings)))
        live.keep(findings, outcome)
    verdict = _verdict(context, outcome)
    # A reason names the session, and a rewrite has the call's own input in it.
    if outcome.reason is None and not outcome.changes and not context.blind and not context.errors:
        live.keep_verdict(findings, verdict)
    return verdict


def _ask(context: Context, rule: LiveRule) -> Findings:
    context.found = {}
    return tuple(context.found.items()) if rule.matches(context) else None


def _matches(
    context: Context, rules: tuple[LiveRule, ...], asked: Iterator[Findings]
) -> tuple[list[_Match], list[RuleHit]]:
    """Sort the rules that match into those that have an effect, and those that are only recorded."""
    call, facts = context.call, context.facts
    words = words_of(call.client)
    common = words.placeholders(call.tool_name)
    rewrites = may_rewrite(call.tool_name, facts.accepts_rewrites)
    matches: list[_Match] = []
    silent: list[RuleHit] = []
    for live in rules:
        answer = next(asked) if live.found is None else live.found
        if answer is None:
            continue
        found = dict(answer)
        rule = live.rule
        # A rule that matches without guesses has been listed already.
        if GUESS in found and (
            any(rule is listed for listed, _, _ in matches) or any(rule.id == hit.id for hit in silent)
        ):
            continue
        if rule.shadow or (rule.decision == "rewrite" and not (rewrites and words.takes(rule.set))):
            silent.append(RuleHit(rule.id, "shadow"))
        elif facts.lifted and _is_lifted(context.policies, rule, facts.lifted):
            silent.append(RuleHit(rule.id, "lifted"))
        else:
            effect = _effect(rule, facts)
            # What follows an unknown program may be mere text: nobody is refused for it, a person decides.
            matches.append((rule, "ask" if effect == "deny" and GUESS in found else effect, common | found))
    return matches, silent


def _is_lifted(policies: Policies, rule: Rule, lifted: frozenset[str]) -> bool:
    named = rule.id in lifted or (EVERY in lifted and bool(rule.modes))
    # A rule may have been locked after a person lifted it.
    return named and rule.id not in policies.locked


def _effect(rule: Rule, facts: Facts) -> _Effect:
    if rule.modes and facts.level == "guidance" and rule.decision in ("deny", "ask"):
        return "guidance"
    return rule.decision


def _rank(match: _Match) -> int:
    rule, effect, _ = match
    # A refusal that only a guess has reached, and that asks, says more than a rule that only asks.
    return _RANK[effect] * 2 + (effect == "ask" and rule.decision == "deny")


def _weigh(context: Context, matches: list[_Match], silent: list[RuleHit]) -> Outcome:
    """Let the strongest match decide (of equals the first by id), and fill in its texts."""
    if not matches:
        return Outcome(hits=tuple(silent))
    rule, effect, found = max(matches, key=_rank) if len(matches) > 1 else matches[0]
    if effect != "allow" and len(matches) > 1:
        matches = [match for match in matches if match[1] != "allow"]
    context.found = found
    reason, suggestion = wording.fill(rule.reason, found), rule.suggestion(context)
    if GUESS in found:
        reason = wording.guessed(reason, found)
    guidance = wording.allowed(reason) if effect == "allow" else ""
    if effect != "deny" and context.facts.level == "guidance":
        guidance, suggestion = _softened(context, matches, effect, guidance, suggestion)
    changes, message, notice = ({}, "", "") if effect == "deny" else _rewrite(context, matches)
    return Outcome(
        effect="allow" if effect == "guidance" else effect,
        rule=rule.id,
        hits=(*[RuleHit(match.id, match_effect) for match, match_effect, _ in matches], *silent),
        reason=_reason(rule, effect, reason, suggestion, context.call.client),
        guidance=guidance,
        suggestion=suggestion,
        changes=changes,
        message=message,
        notice=notice,
    )


def _softened(
    context: Context, matches: list[_Match], effect: _Effect, guidance: str, suggestion: str
) -> tuple[str, str]:
    """Return guidance and suggestion of the first refusal that the guidance level softened, if there is one.

    It is shown beside whatever decides: advice that gave way to a rewrite or a question would be lost.
    """
    match = next((match for match in matches if match[1] == "guidance"), None)
    if match is None:
        return guidance, suggestion
    rule, _, context.found = match
    return (
        wording.softened(wording.fill(rule.reason, context.found)),
        suggestion if effect == "ask" else rule.suggestion(context),
    )


def _rewrite(context: Context, matches: list[_Match]) -> tuple[dict[str, Any], str, str]:
    """Combine the input keys that rewrites set; where two set one key, a locked rule wins, then the first by id.

    Returns:
        The keys with their values, what the rules say of it, and the notice to the person.
    """
    changes: dict[str, Any] = {}
    messages: list[str] = []
    notices: list[str] = []
    locked = context.policies.locked
    for rule, effect, found in sorted(matches, key=lambda match: match[0].id not in locked) if locked else matches:
        if effect == "rewrite":
            context.found = found
            changes = rule.changes(context) | changes
            messages.append(wording.fill(rule.reason, found))
            if shown := sorted(rule.set.keys() - {"model"}):
                notices.append(wording.rewritten(rule.id, shown, context.call.tool_name, messages[-1]))
    return changes, "\n".join(messages), "\n".join(notices)


def _reason(rule: Rule, effect: _Effect, reason: str, suggestion: str, client: str) -> wording.Frame | None:
    if effect == "deny":
        by_mode = bool(rule.modes)
        return (
            wording.orchestrator_deny(reason, suggestion, client)
            if by_mode
            else wording.deny(rule.id, reason, suggestion)
        )
    return wording.ask(reason, suggestion, client) if effect == "ask" else None


def _verdict(context: Context, outcome: Outcome) -> Verdict:
    """Add to an outcome what differs between calls with the same outcome: session, agent, the full input."""
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
        notice=outcome.notice,
        shell=context.shell,
        model=context.model,
        blind=tuple(sorted(context.blind)) if context.blind else (),
        errors=tuple(sorted(context.errors)) if context.errors else (),
    )
