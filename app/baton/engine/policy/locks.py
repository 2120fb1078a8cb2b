"""Report where a layer breaks a lock of the organisation, or sets what only the organisation may set."""

from collections.abc import Iterator
from typing import get_args

from baton.engine.policy.rules.files import PolicyFiles
from baton.engine.policy.rules.model import Decision, RuleFile
from baton.engine.policy.rules.rule import Rule
from baton.engine.text.yaml_lines import Problem

NARROW_KEYS = frozenset({"rules", "rosters", "aliases", "overrides", "lists"})
"""The keys of config.yaml that are allowed below the organisation."""
_STRENGTH: tuple[Decision, ...] = get_args(Decision)
_ONLY = "below it the rule may only get a stronger `decision`, more `modes` or `shadow: false`"
_ROSTER_CHECKS = frozenset({"agent.known", "agent.skill", "agent.default", "outside_agent_tools", "spawn_refused_by"})
_ROSTER_KEYS = ("rosters", "aliases", "overrides")


def check_tier(parsed: PolicyFiles, above: dict[str, Rule]) -> None:
    """Report what the layer's tier is not allowed to set. `above` are the compiled rules of the wider layers, by id."""
    layer = parsed.layer
    if "locked" in parsed.keys and layer.tier != "organisation":
        parsed.report(parsed.config_file, ("locked",), "`locked` is only allowed in the organisation's config.yaml")
    if not layer.narrow:
        return
    for path in layer.files:
        if path.startswith("shell/"):
            parsed.problems.append(Problem(layer.source(path), 1, "only the organisation may change shell tables"))
    allowed = ", ".join(f"`{key}`" for key in sorted(NARROW_KEYS))
    for key in sorted(parsed.keys - NARROW_KEYS - {"locked"}):
        text = f"only the organisation may set `{key}`; allowed in the config.yaml of a {layer.tier}: {allowed}"
        parsed.report(parsed.config_file, (key,), text)
    wider = parsed.above.config.lists if parsed.above else {}
    for name in parsed.own.lists:
        if name in wider:
            text = f"a wider tier sets the list `{name}`; a {layer.tier} may only add lists of other names"
            parsed.report(parsed.config_file, ("lists", name), text)
    _check_rosters(parsed, above)
    for rule_id, text, at in _violations(parsed, above):
        source = parsed.sources[rule_id] if at and at[0] != "rules" else parsed.config_file
        parsed.report(source, at, text)


def _check_rosters(parsed: PolicyFiles, above: dict[str, Rule]) -> None:
    """Report rosters where a locked refusal asks the rosters: changing them would loosen the rule."""
    asking = next((i for i in sorted(parsed.config.locked) if (r := above.get(i)) and _asks_rosters(r)), None)
    if asking is None:
        return
    text = f"the organisation locked `{asking}`, which asks the rosters, so only the organisation may change them"
    for key in _ROSTER_KEYS:
        if key in parsed.keys:
            parsed.report(parsed.config_file, (key,), text)
    for path in parsed.layer.files:
        if path.startswith("agents/"):
            parsed.report(parsed.layer.source(path), (), text)


def _asks_rosters(rule: Rule) -> bool:
    checks = (check.key for one in (*rule.given, *rule.unless) for check in one.checks)
    return rule.decision in ("deny", "ask") and not _ROSTER_CHECKS.isdisjoint(checks)


def _violations(parsed: PolicyFiles, above: dict[str, Rule]) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
    """Yield what the layer may not do to locked rules: the id of the rule that does it, the message, and the key."""
    locked = frozenset(parsed.config.locked)
    for rule_id, switch in parsed.own.rules.items():
        old = above.get(rule_id)
        if rule_id in locked and old is not None and _loosens(old, switch):
            text = f"the organisation locked `{rule_id}`; it cannot be switched to `{switch}` below it"
            yield rule_id, text, ("rules", rule_id)
        rule = parsed.rules.get(rule_id)
        # Switching on a rule that replaces a locked one switches the locked one off, by another name. Where the wider
        # layer has that rule on already, it is the wider layer's own decision.
        for other in rule.replaces if rule and switch == "on" and rule_id not in parsed.own_rules else ():
            if other in locked and not (old is not None and old.effective):
                text = f"`{rule_id}` replaces `{other}`, which the organisation locked"
                yield rule_id, text, ("rules", rule_id)
    for rule_id in parsed.own_rules:
        rule = parsed.rules[rule_id]
        for other in rule.replaces:
            if other in locked:
                yield rule_id, f"the organisation locked `{other}`; a rule below it cannot replace it", ("replaces",)
        old = above.get(rule_id)
        if rule_id in locked and old is not None:
            for key in _loosened(old.file, rule):
                text = f"the organisation locked `{rule_id}`, so `{key}` cannot change like this; {_ONLY}"
                yield rule_id, text, (key,)


def _loosens(old: Rule, switch: str) -> bool:
    if not old.enabled:
        return False
    return switch == "off" or (switch == "shadow" and not old.shadow)


def _loosened(old: RuleFile, new: RuleFile) -> Iterator[str]:
    stronger = _STRENGTH.index(new.decision) < _STRENGTH.index(old.decision)
    for key in old.__struct_fields__:
        before, after = getattr(old, key), getattr(new, key)
        if before == after:
            continue
        allowed = key == "tests"
        if key == "decision":
            allowed = stronger
        elif key == "modes":
            allowed = after is None or (before is not None and set(before) <= set(after))
        elif key in ("shadow", "enabled"):
            allowed = after is (key == "enabled")
        elif key == "set":
            allowed = stronger and not after
        if not allowed:
            yield key
