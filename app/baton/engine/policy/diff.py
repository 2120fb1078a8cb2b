"""Compare two policy sets, and their verdicts on the same calls."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.matching.policy_set import PolicySet
from baton.engine.policy.matching.rule import Rule


class RuleChange(msgspec.Struct, frozen=True):
    """A rule that differs between two sets; `what` names the keys that changed."""

    kind: Literal["added", "removed", "changed", "config"]
    id: str
    what: str = ""


class VerdictChange(msgspec.Struct, frozen=True):
    """A call, by its index, on which two sets decide differently: effect and deciding rule of each."""

    index: int
    before: str
    after: str


def compare(before: PolicySet, after: PolicySet) -> list[RuleChange]:
    """Return what changed from one set to the other: rules by id, then rosters and the other keys of config.yaml."""
    old = {rule.id: rule for rule in before.rules}
    new = {rule.id: rule for rule in after.rules}
    changes = [RuleChange("removed", rule_id) for rule_id in sorted(old.keys() - new.keys())]
    changes += [RuleChange("added", rule_id, _state(new[rule_id])) for rule_id in sorted(new.keys() - old.keys())]
    for rule_id in sorted(old.keys() & new.keys()):
        what = _changed(old[rule_id], new[rule_id])
        if what:
            changes.append(RuleChange("changed", rule_id, what))
    for key in before.config.__struct_fields__:
        if key != "rules" and getattr(before.config, key) != getattr(after.config, key):
            changes.append(RuleChange("config", key))
    for name in sorted(before.rosters.by_id.keys() | after.rosters.by_id.keys()):
        if before.rosters.by_id.get(name) != after.rosters.by_id.get(name):
            changes.append(RuleChange("config", f"agents/{name}"))
    if before.shell_revision != after.shell_revision:
        changes.append(RuleChange("config", "shell"))
    return changes


def verdict_changes(before: PolicySet, after: PolicySet, calls: Sequence[Facts]) -> list[VerdictChange]:
    """Return the calls on which the two sets decide differently."""
    changes: list[VerdictChange] = []
    for index, facts in enumerate(calls):
        old, new = evaluate(before, facts), evaluate(after, facts)
        if (old.effect, old.rule) != (new.effect, new.rule):
            changes.append(VerdictChange(index, _summary(old.effect, old.rule), _summary(new.effect, new.rule)))
    return changes


def _changed(old: Rule, new: Rule) -> str:
    switched = "" if _state(old) == _state(new) else f"switched {_state(new)}"
    keys = [key for key in old.file.__struct_fields__ if getattr(old.file, key) != getattr(new.file, key)]
    return "; ".join(filter(None, (", ".join(keys), switched)))


def _state(rule: Rule) -> str:
    return "off" if not rule.enabled else "shadow" if rule.shadow else "on"


def _summary(effect: str, rule: str) -> str:
    return f"{effect} by {rule}" if rule else effect
