"""Report broken locks, forbidden rewrites in uploads, and settings reserved for the organisation."""

import re
from collections.abc import Iterator
from typing import get_args

import msgspec

from baton.lib.text.yaml_lines import Fault
from baton.rules.call.agent_tools import AGENT_KEYS, TYPE_KEYS
from baton.rules.policy.matching.call_checks import LOOKUP_LISTS
from baton.rules.policy.matching.rule import Rule
from baton.rules.policy.rules.files import PolicyFiles, pack_of
from baton.rules.policy.rules.model import Config, Decision, RuleFile

NARROW_KEYS = frozenset(
    {"rules", "packs", "rosters", "aliases", "overrides", "lists", "places", "model_aliases", "headless"}
)
"""The keys of config.yaml that are allowed below the organisation."""
_STRENGTH: tuple[Decision, ...] = get_args(Decision)
_ONLY = "below it the rule may only get a stronger `decision`, more `modes` or `shadow: false`"
_ROSTER_CHECKS = frozenset({"agent.known", "agent.skill", "agent.default", "outside_agent_tools", "spawn_refused_by"})
_ROSTER_KEYS = ("rosters", "aliases", "overrides")
_GROWING = frozenset({"shell_tools", "agent_tools", "path_keys", "hook_settings", "baton_home", "startup_files"})
"""Keys for reading calls: rules see more with more of them, and less with fewer."""
_UNLOCK = "an admin may unlock rules for a time (`baton policy unlock`)"
_TYPE = re.compile(r"[A-Za-z0-9._:-]{1,100}|\{[a-z_]+\}")
_LONGEST_PROMPT = 4_000


def check_tier(parsed: PolicyFiles, above: dict[str, Rule], locked: frozenset[str]) -> None:
    """Report the layer's forbidden settings.

    Args:
        parsed: The layer over the wider ones.
        above: The compiled rules of the wider layers, by id.
        locked: The ids of the wider layers' rules with a lock in force.
    """
    layer = parsed.layer
    if "locked" in parsed.keys and layer.narrow:
        parsed.report(parsed.config_file, ("locked",), "`locked` is only allowed in the organisation's config.yaml")
    if layer.narrow:
        _check_keys(parsed)
    if not layer.bound or parsed.above is None:
        return
    guards = [above[rule_id] for rule_id in sorted(locked) if above[rule_id].decision in ("deny", "ask")]
    _check_rosters(parsed, guards)
    if not layer.narrow:
        _check_vocabulary(parsed, parsed.above.config, guards)
    for rule_id, text, at in _violations(parsed, above, locked):
        source = parsed.sources[rule_id] if at and at[0] not in ("rules", "packs") else parsed.config_file
        parsed.report(source, at, text)


def _check_keys(parsed: PolicyFiles) -> None:
    layer = parsed.layer
    for path in layer.files:
        if path.startswith("shell/"):
            parsed.problems.append(Fault(layer.source(path), 1, "only the organisation may change shell tables"))
    allowed = ", ".join(f"`{key}`" for key in sorted(NARROW_KEYS))
    for key in sorted(parsed.keys - NARROW_KEYS - {"locked"}):
        text = f"only the organisation may set `{key}`; allowed in the config.yaml of a {layer.tier}: {allowed}"
        parsed.report(parsed.config_file, (key,), text)
    wider = parsed.above.config.lists if parsed.above else {}
    for name in parsed.own.lists:
        if name in wider:
            text = f"a wider tier sets the list `{name}`; a {layer.tier} may only add lists of other names"
            parsed.report(parsed.config_file, ("lists", name), text)
    wider_places = parsed.above.config.places if parsed.above else {}
    for name in parsed.own.places:
        if name in wider_places:
            text = f"a wider tier sets the place `{name}`; a {layer.tier} may only add places of other names"
            parsed.report(parsed.config_file, ("places", name), text)


def _check_vocabulary(parsed: PolicyFiles, above: Config, guards: list[Rule]) -> None:
    """Report an organisation's upload that removes words or tables used by locked rules.

    Files on the server's disk may do so: they are the operator's. An admin unlocks the rules first.
    """
    if not guards:
        return
    layer = parsed.layer
    for path in layer.files:
        if path.startswith("shell/"):
            text = f"shell tables decide what locked rules such as `{guards[0].id}` see; {_UNLOCK}"
            parsed.problems.append(Fault(layer.source(path), 1, text))
    for key in sorted(parsed.keys & _GROWING):
        before, after = getattr(above, key), getattr(parsed.config, key)
        kept = before.items() <= after.items() if isinstance(before, dict) else set(before) <= set(after)
        if not kept:
            text = f"locked rules such as `{guards[0].id}` rely on `{key}`; an upload may add to it, not take from it"
            parsed.report(parsed.config_file, (key,), f"{text}; {_UNLOCK}")
    # Not even added to: the paths in a patch come before the others, and only the first hundred of a call are read.
    if parsed.config.patch_tools != above.patch_tools:
        text = f"locked rules such as `{guards[0].id}` rely on `patch_tools`; {_UNLOCK}"
        parsed.report(parsed.config_file, ("patch_tools",), text)
    _check_places(parsed, above, guards[0])
    moded = next((rule for rule in guards if rule.modes), None)
    if moded is not None and not set(parsed.config.never_block) <= set(above.never_block):
        text = f"`never_block` would take tools out of the locked rule `{moded.id}`; {_UNLOCK}"
        parsed.report(parsed.config_file, ("never_block",), text)
    looking = next((rule for rule in guards if not LOOKUP_LISTS.isdisjoint(_lists_of(rule.file, above))), None)
    if looking is not None and (parsed.config.lookups, above.lookups) == ("tool", "class"):
        text = f"`lookups: tool` would loosen the locked rule `{looking.id}`; {_UNLOCK}"
        parsed.report(parsed.config_file, ("lookups",), text)
    _check_lists(parsed, above, guards)


def _check_places(parsed: PolicyFiles, above: Config, guard: Rule) -> None:
    for name, globs in parsed.own.places.items():
        before = above.places.get(name)
        if before is not None and not _widens(before, globs):
            text = f"locked rules such as `{guard.id}` rely on the place `{name}`; an upload may only add globs to it"
            parsed.report(parsed.config_file, ("places", name), f"{text}; {_UNLOCK}")


def _widens(before: list[str], after: list[str]) -> bool:
    """Return whether a place kept all its globs, without new exceptions (`!…`)."""
    return set(before) <= set(after) and not any(glob.startswith("!") for glob in set(after) - set(before))


def _check_lists(parsed: PolicyFiles, above: Config, guards: list[Rule]) -> None:
    """Report changed lists of a wider layer used by locked rules: a new item in an `unless` would loosen the rule."""
    changed = {name for name, items in parsed.own.lists.items() if name in above.lists and items != above.lists[name]}
    for rule in guards if changed else ():
        for name in sorted(changed & _lists_of(rule.file, above)):
            changed.remove(name)
            text = f"the locked rule `{rule.id}` reads the list `{name}`; {_UNLOCK}"
            parsed.report(parsed.config_file, ("lists", name), text)


def _lists_of(rule: RuleFile, config: Config) -> set[str]:
    """Return the names of the lists read by a rule, also through other lists."""
    conditions = [one for some in (rule.match, rule.unless) for one in (some if isinstance(some, list) else [some])]
    found: set[str] = set(LOOKUP_LISTS) if any(one.lookup for one in conditions) else set()
    # Only the conditions: in a reason, a suggestion or a test, a shell line's `$name` is text.
    waiting: list[object] = [msgspec.to_builtins(rule.match), msgspec.to_builtins(rule.unless)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and value.startswith("$") and value[1:] in config.lists and value[1:] not in found:
            found.add(value[1:])
            waiting.append(msgspec.to_builtins(config.lists[value[1:]]))
    return found


def _check_rosters(parsed: PolicyFiles, guards: list[Rule]) -> None:
    """Report roster changes if a locked refusal reads the rosters: they would loosen the rule."""
    keys = [key for key in _ROSTER_KEYS if key in parsed.keys]
    paths = [path for path in parsed.layer.files if path.startswith("agents/")]
    asking = next((rule.id for rule in guards if _asks_rosters(rule)), None) if keys or paths else None
    if asking is None:
        return
    text = f"the organisation locked `{asking}`, which asks the rosters, so only the organisation may change them"
    for key in keys:
        parsed.report(parsed.config_file, (key,), text)
    for path in paths:
        parsed.report(parsed.layer.source(path), (), text)


def _asks_rosters(rule: Rule) -> bool:
    checks = (check.key for one in (*rule.given, *rule.unless) for check in one.checks)
    return not _ROSTER_CHECKS.isdisjoint(checks)


def _violations(
    parsed: PolicyFiles, above: dict[str, Rule], locked: frozenset[str]
) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
    """Yield what the layer may not do to locked rules: the id of the rule that does it, the message, and the key."""
    packs = [
        (one, parsed.own.packs[name], ("packs", name)) for one in above if (name := pack_of(one)) in parsed.own.packs
    ]
    for rule_id, switch, at in (*packs, *((one, to, ("rules", one)) for one, to in parsed.own.rules.items())):
        old = above.get(rule_id)
        if rule_id in locked and old is not None and _loosens(old, switch):
            text = f"the organisation locked `{rule_id}`; it cannot be switched to `{switch}` below it; {_UNLOCK}"
            yield rule_id, text, at
        rule = parsed.rules.get(rule_id)
        # Switching on a rule that replaces a locked one would switch the locked one off. If the wider layer already has
        # that rule on, it is the wider layer's own decision.
        for other in rule.replaces if rule and switch == "on" and rule_id not in parsed.own_rules else ():
            if other in locked and not (old is not None and old.effective):
                text = f"`{rule_id}` replaces `{other}`, locked by the organisation"
                yield rule_id, text, at
    for rule_id in parsed.own_rules:
        rule = parsed.rules[rule_id]
        for other in rule.replaces:
            if other in locked:
                yield rule_id, f"the organisation locked `{other}`; a rule below it cannot replace it", ("replaces",)
        old = above.get(rule_id)
        if rule_id in locked and old is not None:
            for key in loosened_keys(old.file, rule):
                text = f"the organisation locked `{rule_id}`, so `{key}` cannot change like this; {_ONLY}"
                yield rule_id, text, (key,)


def uploaded_set(rule: RuleFile) -> Iterator[tuple[str, str]]:
    """Yield the keys of a rule's `set` forbidden in an upload, with the message.

    The uploader is not the caller: no one may write a command for a colleague's machine.
    """
    for key, text in rule.set.items():
        if key not in AGENT_KEYS:
            allowed = ", ".join(f"`{one}`" for one in sorted(AGENT_KEYS))
            yield (
                key,
                f"an uploaded rule cannot set `{key}`: it may change an agent call's model, type and prompt ({allowed})",
            )
        elif key in TYPE_KEYS and _TYPE.fullmatch(text) is None:
            yield (
                key,
                f"`{text[:80]}` is not an agent's name; allowed: letters, digits, `.`, `_`, `:`, `-`, 100 at most",
            )
        elif len(text) > _LONGEST_PROMPT:
            yield key, f"it has {len(text)} characters; an uploaded rule may set at most {_LONGEST_PROMPT}"


def _loosens(old: Rule, switch: str) -> bool:
    if not old.enabled:
        return False
    return switch == "off" or (switch == "shadow" and not old.shadow)


def loosened_keys(old: RuleFile, new: RuleFile) -> Iterator[str]:
    """Yield a rule's changed keys that may make it stop less."""
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
