"""Decides one call: `deny > ask > rewrite > allow > abstain`, whatever the order of rules. It reads nothing but its arguments."""

from typing import Any, Literal

from app.engine.policy import texts
from app.engine.policy.context import Context
from app.engine.policy.policy_set import PolicySet
from app.engine.policy.rule import Rule
from app.engine.verdict import EVERY, Facts, RuleHit, Verdict

_Outcome = Literal["deny", "ask", "rewrite", "allow", "guidance"]
_Hit = tuple[Rule, _Outcome, dict[str, str]]
_RANK: dict[_Outcome, int] = {"deny": 5, "ask": 4, "rewrite": 3, "guidance": 2, "allow": 1}


def evaluate(policies: PolicySet, facts: Facts) -> Verdict:
    """Decide a call by all rules that concern it."""
    context = Context(policies, facts)
    call = facts.call
    task_tool = texts.task_tool(call.client)
    hits: list[_Hit] = []
    shadows: list[RuleHit] = []
    for candidate, settled in context.reading.live(context):
        found = {"tool": call.tool_name, "task_tool": task_tool}
        if settled is not None:
            found |= settled
        else:
            context.found = found
            if not candidate.matches(context):
                continue
        rule = candidate.rule
        if rule.shadow:
            shadows.append(RuleHit(rule.id, "shadow"))
        elif facts.lifted and _is_lifted(policies, rule, facts.lifted):
            shadows.append(RuleHit(rule.id, "lifted"))
        else:
            hits.append((rule, _effect(rule, facts), found))
    if not hits:
        return Verdict(
            hits=tuple(shadows),
            shell=context.shell,
            blind=_sorted(context.blind),
            errors=_sorted(context.errors),
        )
    return _verdict(context, hits, shadows)


def _sorted(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names)) if names else ()


def _is_lifted(policies: PolicySet, rule: Rule, lifted: frozenset[str]) -> bool:
    named = rule.id in lifted or (EVERY in lifted and bool(rule.modes))
    return named and rule.id not in policies.config.locked


def _effect(rule: Rule, facts: Facts) -> _Outcome:
    if rule.modes and facts.level == "guidance" and rule.decision in ("deny", "ask"):
        return "guidance"
    return rule.decision


def _rank(hit: _Hit) -> int:
    return _RANK[hit[1]]


def _verdict(context: Context, hits: list[_Hit], shadows: list[RuleHit]) -> Verdict:
    rule, effect, found = max(hits, key=_rank) if len(hits) > 1 else hits[0]
    if effect != "allow" and len(hits) > 1:
        hits = [hit for hit in hits if hit[1] != "allow"]
    context.found = found
    reason, suggestion = texts.fill(rule.reason, found), rule.suggestion(context)
    text = guidance = ""
    if effect == "deny":
        write = texts.orchestrator_deny if rule.modes else texts.deny
        text = write(rule.id, reason, suggestion, context.call)
    elif effect == "ask":
        text = texts.ask(rule.id, reason, suggestion, context.call)
    elif effect == "allow":
        guidance = texts.allowed(reason)
    if effect != "deny" and context.facts.level == "guidance":
        guidance, suggestion = _softened(context, hits, effect, guidance, suggestion)
    updated, message = (None, "") if effect == "deny" else _rewrite(context, hits)
    return Verdict(
        effect="allow" if effect == "guidance" else effect,
        rule=rule.id,
        hits=(*[RuleHit(hit.id, hit_effect) for hit, hit_effect, _ in hits], *shadows),
        reason=text,
        guidance=guidance,
        suggestion=suggestion,
        updated_input=updated,
        message=message,
        shell=context.shell,
        blind=_sorted(context.blind),
        errors=_sorted(context.errors),
    )


def _softened(context: Context, hits: list[_Hit], effect: _Outcome, guidance: str, suggestion: str) -> tuple[str, str]:
    """Put the first refusal that the guidance level softened in the place of a weaker rule's words."""
    hit = next((hit for hit in hits if hit[1] == "guidance"), None)
    if hit is None:
        return guidance, suggestion
    rule, _, context.found = hit
    return (
        texts.softened(texts.fill(rule.reason, context.found)),
        suggestion if effect == "ask" else rule.suggestion(context),
    )


def _rewrite(context: Context, hits: list[_Hit]) -> tuple[dict[str, Any] | None, str]:
    changes: dict[str, Any] = {}
    messages: list[str] = []
    for rule, effect, found in hits:
        if effect == "rewrite":
            context.found = found
            changes = rule.changes(context) | changes
            messages.append(texts.fill(rule.reason, found))
    if not changes:
        return None, ""
    return context.call.tool_input | changes, "\n".join(messages)
