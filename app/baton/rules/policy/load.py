"""Build a policy set from its files: parse, compile, test, lint. A set is accepted whole or not at all."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from baton.lib.bash.tables.tables import ShellTables, build
from baton.lib.text.globs import any_of, is_glob
from baton.lib.text.yaml_lines import Fault, did_you_mean, line_of
from baton.rules.call.call import MODELS
from baton.rules.call.places.path_groups import LONGEST_GLOB, MOST_GLOBS, MOST_GROUPS, wrong_glob
from baton.rules.call.places.places import BUILT_IN
from baton.rules.policy.lint import TestResult, denied_suggestions, failing_tests, run_tests
from baton.rules.policy.locks import check_tier, uploaded_set
from baton.rules.policy.matching.conditions import Vocabulary, compile_all
from baton.rules.policy.matching.program_checks import UnknownListError, words
from baton.rules.policy.matching.rule import PolicySet, Rule, Shells, Suggestion
from baton.rules.policy.matching.when import When, WhenError
from baton.rules.policy.matching.wording import PLACEHOLDERS, place_of, slots
from baton.rules.policy.rules.files import (
    NO_LOCKS,
    TIERS,
    Layer,
    Locks,
    PolicyFiles,
    PolicyProblems,
    Unlock,
    layered,
    locks_on,
    pack_of,
    revision,
    texts,
    unknown,
)
from baton.rules.policy.rules.model import Condition, Config, RuleFile, Suggest, Switch

__all__ = [
    "Fault", "Layer", "LayerTrial", "PolicyProblems", "PolicySet", "Unlock", "extend", "layered", "load", "texts",
    "try_layer", "unlocked",
]  # fmt: skip


_PLACE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_PLACE_KEYS = frozenset({"places", "writes_to", "reads", "writes_all_of", "arguments_in"})


def load(layers: Sequence[Layer], unlocks: Sequence[Unlock] = ()) -> PolicySet:
    """Build the policy set of these layers.

    A rule is tested together with its own layer and the wider ones. The rosters and lists of narrower layers change its
    matches, but not its acceptance. `unlocks` apply to the users of the set.

    Raises:
        PolicyProblems: With all faults of the first rejected layer.
    """
    first, *rest = _given(layers) or [Layer(tier="shipped", files={})]
    if first.tier == "shipped":
        base = unlocked(_shipped(tuple(first.files.items())), unlocks)
    else:
        base = _stage(first, None, unlocks)
    return _extend(base, rest, unlocks)


@lru_cache(maxsize=2)  # the current ones, and those of a replayed revision
def _shipped(files: tuple[tuple[str, str], ...]) -> PolicySet:
    """Build the set of the shipped files alone.

    It is most of the work of `load`, and equal for every reload, checked upload and replay of a running server.
    """
    return _stage(Layer(tier="shipped", files=dict(files)), None, ())


def extend(base: PolicySet, layers: Sequence[Layer], unlocks: Sequence[Unlock] = ()) -> PolicySet:
    """Lay narrower layers over a set, sharing unchanged files, tables and rules.

    Raises:
        PolicyProblems: With all faults of the first rejected layer.
    """
    return _extend(unlocked(base, unlocks), _given(layers), unlocks)


def fitting(base: PolicySet, layers: Sequence[Layer], unlocks: Sequence[Unlock]) -> tuple[PolicySet, tuple[Fault, ...]]:
    """Extend a set by the valid files of layers. Return it, and the problems of the first invalid layer."""
    try:
        return extend(base, layers, unlocks), ()
    except PolicyProblems as refused:
        problems = tuple(refused.problems)
    policies = unlocked(base, unlocks)
    for layer in layers:
        rest = layer
        while rest.files:
            try:
                policies = extend(policies, [rest], unlocks)
                break
            except PolicyProblems as refused:
                wrong = {problem.file for problem in refused.problems}
                files = {path: text for path, text in rest.files.items() if rest.source(path) not in wrong}
                rest = msgspec.structs.replace(rest, files=files if len(files) < len(rest.files) else {})
    return policies, problems


def rebuilt(layers: Sequence[Layer], unlocks: Sequence[Unlock]) -> PolicySet:
    """Build a set that another process has accepted, without its tests. Raise PolicyProblems."""
    first, *rest = _given(layers) or [Layer(tier="shipped", files={})]
    base = _build(first, None, unlocks)
    for layer in rest:
        base = _build(layer, base, unlocks)
    return base


def layers_of(texts: Mapping[str, str]) -> list[Layer]:
    """Return a revision's layers from its files by source."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for source, text in texts.items():
        found.setdefault(place_of(source), {})[source.rpartition(":")[2]] = text
    return [
        msgspec.convert({"tier": tier, "name": name, "files": files}, Layer) for (tier, name), files in found.items()
    ]


class LayerTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A layer being written: its set, its faults, and its tests with their lines.

    `policies` is None if the files cannot be read as policies; then no test was run.
    """

    policies: PolicySet | None
    problems: list[Fault]
    tests: list[tuple[TestResult, str, int]]


def try_layer(base: PolicySet, layer: Layer, unlocks: Sequence[Unlock] = ()) -> LayerTrial:
    """Lay a layer over a set and run the tests of its rules; unlike in `extend`, a failed test is a result."""
    try:
        policies = _build(layer, unlocked(base, unlocks), unlocks)
    except PolicyProblems as refused:
        return LayerTrial(policies=None, problems=refused.problems, tests=[])
    parsed, own = policies.parsed, set(policies.parsed.own_rules)
    tests = [
        (result, rule.source, line_of(parsed.lines.get(rule.source, {}), result.at))
        for rule in policies.rules
        if rule.id in own
        for result in run_tests(policies, rule)
    ]
    try:
        _test(policies, base)
    except PolicyProblems as refused:
        return LayerTrial(policies=policies, problems=refused.problems, tests=tests)
    return LayerTrial(policies=policies, problems=[], tests=tests)


def unlocked(base: PolicySet, unlocks: Sequence[Unlock]) -> PolicySet:
    """Return the same set with rules unlocked."""
    locks = base.locks.without(unlocks)
    return base if locks is base.locks else _with(base, base.rules, locks)


def only(base: PolicySet, keeps: Callable[[Rule], bool]) -> PolicySet:
    """Return the same set with some of its rules."""
    return _with(base, tuple(filter(keeps, base.rules)), base.locks)


def _with(base: PolicySet, rules: tuple[Rule, ...], locks: Locks) -> PolicySet:
    return PolicySet(
        revision=base.revision,
        rules=rules,
        config=base.config,
        rosters=base.rosters.by_id,
        shells=base.shells,
        shell_revision=base.shell_revision,
        parsed=base.parsed,
        locks=locks,
        like=base,
    )


def _extend(base: PolicySet, layers: Sequence[Layer], unlocks: Sequence[Unlock]) -> PolicySet:
    for layer in layers:
        base = _stage(layer, base, unlocks)
    return base


def _given(layers: Sequence[Layer]) -> list[Layer]:
    return sorted((layer for layer in layers if layer.files), key=lambda layer: TIERS.index(layer.tier))


def _stage(layer: Layer, above: PolicySet | None, unlocks: Sequence[Unlock]) -> PolicySet:
    return _test(_build(layer, above, unlocks), above)


def _build(layer: Layer, above: PolicySet | None, unlocks: Sequence[Unlock]) -> PolicySet:
    """Build the set of a layer over another one, without running its tests."""
    parsed = PolicyFiles(layer, above.parsed if above else None)
    known = {rule.id: rule for rule in above.rules} if above else {}
    shells = _shells(parsed, above)
    locks = above.locks.without(unlocks) if above else NO_LOCKS
    check_tier(parsed, known, locks.in_force)
    _check_config(parsed)
    rosters = parsed.active_rosters()
    rules = _rules(parsed, known)
    if parsed.problems:
        raise PolicyProblems(parsed.problems)
    if not layer.narrow:  # a pattern covers the organisation's rules, but not a team's rules in the same folder
        locks = locks_on(parsed.config.locked, parsed.rules).without(unlocks)
    return PolicySet(
        revision=revision(parsed.files),
        rules=rules,
        config=parsed.config,
        rosters=rosters,
        shells=shells,
        shell_revision=above.shell_revision if above and shells is above.shells else revision(parsed.shell),
        parsed=parsed,
        locks=locks,
        like=above,
    )


def _shells(parsed: PolicyFiles, above: PolicySet | None) -> Shells:
    if above is not None and parsed.shell == above.parsed.shell:
        return above.shells
    tables = build(parsed.shell)
    if isinstance(tables, ShellTables):
        return Shells(tables)
    parsed.problems += tables
    return Shells(ShellTables())


def _test(policies: PolicySet, above: PolicySet | None) -> PolicySet:
    parsed = policies.parsed
    own = set(parsed.own_rules)
    for rule in policies.rules:
        for at, text in failing_tests(policies, rule) if rule.id in own else ():
            parsed.report(rule.source, at, text)
    for rule, text in denied_suggestions(policies, above):
        parsed.report(rule.source, ("suggest",), text)
    if parsed.problems:
        raise PolicyProblems(parsed.problems)
    return policies


def _check_config(parsed: PolicyFiles) -> None:
    config, ids = parsed.own, list(parsed.rules)
    for name in config.rules:
        if name not in parsed.rules:
            parsed.report(parsed.config_file, ("rules", name), unknown("rule", name, ids))
    _check_packs(parsed)
    for at, pattern in enumerate(config.locked):
        _check_lock(parsed, at, pattern)
    for name in config.rosters:
        if name not in parsed.rosters:
            parsed.report(parsed.config_file, ("rosters",), unknown("roster", name, list(parsed.rosters)))
    _check_places(parsed)
    lists = parsed.config.lists
    try:
        words(config.never_block, lists)
    except UnknownListError as error:
        parsed.report(parsed.config_file, ("never_block",), unknown("list", str(error), list(lists)))


def _check_packs(parsed: PolicyFiles) -> None:
    """Report unknown packs, and rules of packs that do not exist."""
    for rule_id in parsed.own_rules:
        if (pack := pack_of(rule_id)) not in {"", *parsed.packs}:
            text = f"the pack `{pack}` is missing; write `packs/{pack}/pack.yaml`, or use another folder"
            parsed.report(parsed.sources[rule_id], ("id",), text)
    for name in parsed.own.packs:
        if name not in parsed.packs:
            parsed.report(parsed.config_file, ("packs", name), unknown("pack", name, list(parsed.packs)))


def _check_places(parsed: PolicyFiles) -> None:
    """Report unusable places of the layer, and unknown places in its lists."""
    at = ("places",)
    if len(parsed.config.places) > MOST_GROUPS:
        parsed.report(parsed.config_file, at, f"{len(parsed.config.places)} places; at most {MOST_GROUPS} are allowed")
    for name, globs in parsed.own.places.items():
        if not _PLACE_NAME.fullmatch(name):
            text = f"`{name}` is not a name of a place: lower-case letters, digits and `_`, a letter first, 40 at most"
            parsed.report(parsed.config_file, (*at, name), text)
        elif name in BUILT_IN:
            parsed.report(parsed.config_file, (*at, name), f"the place `{name}` is built in; choose another name")
        if all(glob.startswith("!") for glob in globs):
            parsed.report(parsed.config_file, (*at, name), f"the place `{name}` needs at least one glob without `!`")
        if len(globs) > MOST_GLOBS:
            parsed.report(parsed.config_file, (*at, name), f"{len(globs)} globs; at most {MOST_GLOBS} are allowed")
        for index, glob in enumerate(globs):
            if wrong := wrong_glob(glob):
                parsed.report(parsed.config_file, (*at, name, index), f"`{glob[:LONGEST_GLOB]}` {wrong}")
    for name, items in parsed.own.lists.items():
        _check_place_names(
            parsed, parsed.config_file, [item for item in items if not isinstance(item, str)], ("lists", name)
        )


def _check_place_names(parsed: PolicyFiles, source: str, conditions: Any, at: tuple[str, ...]) -> None:
    known = [*BUILT_IN, *parsed.config.places]
    waiting = [msgspec.to_builtins(conditions)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            # `input` has a tool's own keys, possibly also called `places`.
            waiting += [inner for key, inner in value.items() if key != "input"]
            for key in _PLACE_KEYS.intersection(value):
                for name in [value[key]] if isinstance(value[key], str) else value[key]:
                    if name not in known:
                        parsed.report(source, at, unknown("place", name, known))


def _check_lock(parsed: PolicyFiles, at: int, pattern: str) -> None:
    """Report a lock that covers no rule: a misspelling would leave the intended rule unlocked."""
    ids = list(parsed.rules)
    try:
        if any(map(any_of((pattern,)), ids)):
            return
    except ValueError as error:
        parsed.report(parsed.config_file, ("locked", at), str(error))
        return
    if is_glob(pattern):
        folders = sorted({f"{rule_id.rpartition('/')[0]}/*" for rule_id in ids})
        text = f"the pattern `{pattern}` matches no rule{did_you_mean(pattern, folders)}"
    else:
        text = unknown("rule", pattern, ids)
    parsed.report(parsed.config_file, ("locked", at), text)


def _switches(parsed: PolicyFiles) -> dict[str, tuple[bool, bool]]:
    """Return for each rule whether it is enabled and whether it is in shadow."""
    switches, packs = parsed.config.rules, parsed.config.packs
    given: dict[str, Switch] = {}
    for rule_id, rule in parsed.rules.items():
        own: Switch = ("shadow" if rule.shadow else "on") if rule.enabled else "off"
        if (pack := pack_of(rule_id)) and own != "off":
            state = packs.get(pack, "off")
            own = own if state == "on" else state
        given[rule_id] = switches.get(rule_id, own)
    # A rule in shadow has no effect, so it replaces nothing.
    replaced = {other for rule_id, rule in parsed.rules.items() if given[rule_id] == "on" for other in rule.replaces}
    return {i: (switch != "off" and i not in replaced, switch == "shadow") for i, switch in given.items()}


def _rules(parsed: PolicyFiles, known: dict[str, Rule]) -> tuple[Rule, ...]:
    config = parsed.config
    ground = Vocabulary(config.lists, frozenset(config.agent_tools))
    shared = parsed.above is not None and _same_ground(parsed.above.config, config)
    switches = _switches(parsed)
    out: list[Rule] = []
    for rule_id, rule in sorted(parsed.rules.items()):
        source = parsed.sources[rule_id]
        enabled, shadow = switches[rule_id]
        old = known.get(rule_id)
        # Compiling is most of the work, and there is one set for each team, project and user.
        if shared and old is not None and old.file is rule:
            same = (old.enabled, old.shadow) == (enabled, shadow)
            out.append(old if same else msgspec.structs.replace(old, enabled=enabled, shadow=shadow))
            continue
        _check_rule(parsed, source, rule)
        _check_place_names(parsed, source, [rule.match, rule.unless, [s.if_ for s in _suggests(rule)]], ("match",))
        try:
            out.append(_compile(rule, ground, source, enabled=enabled, shadow=shadow))
        except UnknownListError as error:
            parsed.report_at_text(source, f"${error}", unknown("list", f"${error}", [f"${n}" for n in config.lists]))
        except WhenError as error:
            parsed.report(source, ("when",), f"`when`: {error}")
        except ValueError as error:
            parsed.report(source, ("match",), str(error))
    return tuple(out)


def _same_ground(above: Config, config: Config) -> bool:
    """Return whether rules compiled for the layer above are reusable; lists with new names do not affect them."""
    return (above.shell_tools, above.agent_tools) == (config.shell_tools, config.agent_tools) and all(
        config.lists.get(name) == items for name, items in above.lists.items()
    )


def _check_rule(parsed: PolicyFiles, path: str, rule: RuleFile) -> None:
    for other in rule.replaces:
        if other not in parsed.rules:
            parsed.report(path, ("replaces",), unknown("rule", other, list(parsed.rules)))
    for at, text in (("reason", rule.reason), *(("suggest", s.text + s.prompt) for s in _suggests(rule))):
        for name in slots(text):
            if name not in PLACEHOLDERS:
                parsed.report(path, (at,), unknown("placeholder", f"{{{name}}}", [f"{{{p}}}" for p in PLACEHOLDERS]))
    _check_rewrite(parsed, path, rule)
    _check_rosters(parsed, path, rule)
    # Without a test for each side, a rule that always or never matches would be accepted.
    if not rule.tests.match:
        parsed.report(path, ("tests",), "a rule needs at least one matching test: `tests: {match: […]}`")
    if not rule.tests.not_match:
        parsed.report(path, ("tests",), "a rule needs at least one test without a match: `tests: {not_match: […]}`")
    if isinstance(rule.match, list) and not rule.match:
        parsed.report(path, ("match",), "a rule needs at least one condition")
    if rule.on_failure == "deny" and rule.decision not in ("deny", "ask"):
        parsed.report(path, ("on_failure",), "`on_failure: deny` is only for rules that deny or ask")


def _check_rewrite(parsed: PolicyFiles, path: str, rule: RuleFile) -> None:
    if rule.decision == "rewrite" and not rule.set:
        parsed.report(path, ("decision",), "a rewrite needs `set`: the changed input keys with their values")
    if rule.decision != "rewrite" and rule.set:
        parsed.report(path, ("set",), f"`set` is only for `decision: rewrite`; this rule's is `{rule.decision}`")
    if rule.set.get("model", "{model}") not in MODELS | {"{model}"}:
        allowed = ", ".join(f"`{name}`" for name in sorted(MODELS))
        parsed.report(
            path, ("set", "model"), f"`{rule.set['model']}` is not a model accepted by clients; allowed: {allowed}"
        )
    for key, why in uploaded_set(rule) if parsed.layer.bound and rule.id in parsed.own_rules else ():
        parsed.report(path, ("set", key), why)


def _check_rosters(parsed: PolicyFiles, path: str, rule: RuleFile) -> None:
    given = (rule.match, rule.unless, *(one.if_ for one in _suggests(rule) if one.if_ is not None))
    conditions = (one for some in given for one in ([some] if isinstance(some, Condition) else some))
    for roster in (condition.spawn_refused_by for condition in conditions):
        if roster is not None and roster not in parsed.rosters:
            parsed.report_at_text(path, roster, unknown("roster", roster, list(parsed.rosters)))


def _suggests(rule: RuleFile) -> list[Suggest]:
    value = rule.suggest
    if isinstance(value, str):
        return [Suggest(text=value)] if value else []
    return [value] if isinstance(value, Suggest) else value


def _compile(rule: RuleFile, ground: Vocabulary, source: str, *, enabled: bool, shadow: bool) -> Rule:
    missing = rule.on_failure == "deny"
    on_error = rule.decision in ("deny", "ask")
    return Rule(
        id=rule.id,
        description=rule.description,
        decision=rule.decision,
        who=rule.who,
        modes=tuple(rule.modes or ()),
        enabled=enabled,
        shadow=shadow,
        given=compile_all(rule.match, ground, missing=missing),
        unless=compile_all(rule.unless, ground, missing=not missing, every_path=True),
        when=When(rule.when, rule.id, on_error=on_error) if rule.when is not None else None,
        reason=rule.reason,
        set=rule.set,
        suggestions=tuple(
            Suggestion(s.agent, s.prompt, s.text, compile_all(s.if_ or [], ground, missing=False))
            for s in _suggests(rule)
        ),
        file=rule,
        source=source,
    )
