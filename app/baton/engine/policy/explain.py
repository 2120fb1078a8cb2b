"""Explain for every rule whether it matched a call and, if not, what failed first."""

import msgspec

from baton.engine.call.client_words import words_of
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import rewritten
from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.policy_set import PolicySet
from baton.engine.policy.matching.rule import Rule, candidate


class RuleTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule made of a call. `why` says what failed first, "" for a rule that matched.

    A rule in `shadow` has no effect. `when` is the rule's expression, as written. `locked` is the lock that holds the
    rule, as config.yaml has it; `unlocked` says who freed it, until when and why.
    """

    id: str
    decision: str
    matched: bool
    why: str = ""
    shadow: bool = False
    when: str = ""
    locked: str = ""
    unlocked: str = ""


def explain(policies: PolicySet, facts: Facts) -> list[RuleTrace]:
    """Trace every rule of the set, ordered by id. A rule matches the call, or what rewrites make of it."""
    context = Context(policies, facts)
    traces = [trace(policies, rule, context) for rule in policies.rules]
    after = rewritten(policies, facts)
    if after is facts:
        return traces
    changed = Context(policies, after)
    again = (trace(policies, rule, changed) for rule in policies.rules)
    return [second if second.matched else first for first, second in zip(traces, again, strict=True)]


def trace(policies: PolicySet, rule: Rule, context: Context, *, count_disabled: bool = False) -> RuleTrace:
    """Trace one rule; with `count_disabled` also one that is off."""
    call, level = context.call, context.facts.level
    why = policies.concerns(rule, call.tool_name, level, subagent=call.is_subagent, count_disabled=count_disabled)
    if not why:
        context.found = words_of(call.client).placeholders(call.tool_name)
        why = _why_not(rule, context)
    return RuleTrace(
        id=rule.id,
        decision=rule.decision,
        matched=why == "",
        why=why,
        shadow=rule.shadow,
        when=rule.when.text if rule.when else "",
        locked=policies.locks.locked.get(rule.id, ""),
        unlocked=policies.locks.unlocked.get(rule.id, ""),
    )


def findings(policies: PolicySet, rule: Rule, facts: Facts) -> dict[str, str]:
    """Return what a rule that matches a call has found in it, by placeholder; nothing for one that does not match."""
    context = Context(policies, facts)
    asked = candidate(rule, facts.call.tool_name)
    for one in () if asked is None else (asked, msgspec.structs.replace(asked, guesses=True)):
        live = one.live(context)
        if live is None:
            continue
        if live.found is not None:
            return live.found
        context.found = {}
        if live.matches(context):
            return context.found
    return {}


def _why_not(rule: Rule, context: Context) -> str:
    """Return the first thing that keeps a rule from matching; "" for one that matches."""
    tool = context.call.tool_name
    asked = candidate(rule, tool)
    if asked is None:
        # No condition is a candidate, although one applies to the tool: then an exception has taken the tool out.
        if any(condition.applies(tool) for condition in rule.given):
            return "`unless`: the tool is an exception"
        return "; ".join(dict.fromkeys(condition.why_not_applies for condition in rule.given))
    if asked.matches(context):
        return ""
    if context.reading.guessed is not None and not rule.modes and rule.decision in {"deny", "ask"}:
        guessing = msgspec.structs.replace(asked, guesses=True)
        if guessing.matches(context):
            return ""
    applicable = [(number, one) for number, one in enumerate(rule.given, 1) if one.applies(tool)]
    misses = [(number, miss) for number, one in applicable if (miss := one.miss(context)) is not None]
    if len(misses) < len(applicable):  # an alternative holds, so something else keeps the rule from matching
        if rule.when is not None and not any(exception.holds(context) for exception in asked.unless):
            return "`when`: it failed" if rule.when.name in context.errors else "`when`: it is false"
        return "`unless`: the call is an exception"
    number, nearest = max(misses, key=lambda one: one[1].held)
    if len(rule.given) == 1:
        return nearest.why
    return f"the nearest alternative is number {number} of {len(rule.given)}: {nearest.why}"
