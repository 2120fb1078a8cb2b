"""Explain for every rule whether it matched a call and, if not, the first failed check."""

import msgspec

from baton.clients.registry import words_of
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import rewritten
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.rule import PolicySet, Rule, candidate


class RuleTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's result for a call. `why` is the first failed check, "" for a match.

    A rule in `shadow` has no effect. `when` is the rule's expression, as written. `locked` is the lock on the rule, as
    in config.yaml; `unlocked` says who unlocked it, until when and why.
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
    """Trace every rule of the set, ordered by id. A rule matches the call, or its rewritten form."""
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
    """Return a matching rule's findings in a call, by placeholder; nothing without a match."""
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
    tool = context.call.tool_name
    asked = candidate(rule, tool)
    if asked is None:
        # No condition is a candidate, although one applies to the tool: so an exception has excluded the tool.
        if any(condition.applies(tool) for condition in rule.given):
            return "`unless`: the tool is an exception"
        return "; ".join(dict.fromkeys(condition.why_not_applies for condition in rule.given))
    if asked.matches(context):
        return ""
    guesses = context.reading.guessed is not None and not rule.modes and rule.decision in {"deny", "ask"}
    if guesses and msgspec.structs.replace(asked, guesses=True).matches(context):
        return ""
    applicable = [(number, one) for number, one in enumerate(rule.given, 1) if one.applies(tool)]
    misses = [(number, miss) for number, one in applicable if (miss := one.miss(context)) is not None]
    if len(misses) < len(applicable):  # an alternative holds, so something else prevents the match
        if rule.when is not None and not any(exception.holds(context) for exception in asked.unless):
            return "`when`: it failed" if rule.when.name in context.errors else "`when`: it is false"
        return "`unless`: the call is an exception"
    number, nearest = max(misses, key=lambda one: one[1].held)
    if len(rule.given) == 1:
        return nearest.why
    return f"the nearest alternative is number {number} of {len(rule.given)}: {nearest.why}"
