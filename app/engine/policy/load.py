"""Turns texts into a policy set: parse, compile, test, lint; accepted whole or not at all. It reads no folder."""

from collections.abc import Mapping

from app.engine.agents import MODELS
from app.engine.policy.check import failing_tests
from app.engine.policy.conditions import Ground, compile_all
from app.engine.policy.files import TEAM, Parsed, overlay, revision, shipped_layer, unknown
from app.engine.policy.lint import denied_suggestions
from app.engine.policy.model import RuleFile, Suggest
from app.engine.policy.policy_set import PolicySet
from app.engine.policy.problems import PolicyProblems
from app.engine.policy.programs import UnknownListError, words
from app.engine.policy.rule import Rule, Suggestion
from app.engine.policy.texts import PLACEHOLDERS, slots
from app.engine.shell.tables import ShellTables, build
from app.engine.yaml_lines import Problem

__all__ = ["PolicyProblems", "PolicySet", "Problem", "load", "overlay"]


def load(files: Mapping[str, str]) -> PolicySet:
    """Build the set that these texts, by relative path, describe. Raises PolicyProblems, with all that is wrong.

    A rule is tested with the configuration that it came with: a team's rosters and lists change what shipped rules
    match, and not whether they are accepted.
    """
    shipped = shipped_layer(files)
    if len(shipped) in (0, len(files)):
        return _test(*_assemble(files), layer="")
    _test(*_assemble(shipped), layer="")
    return _test(*_assemble(files), layer=TEAM)


def _assemble(files: Mapping[str, str]) -> tuple[Parsed, PolicySet]:
    parsed = Parsed(files)
    tables = build(parsed.shell)
    if not isinstance(tables, ShellTables):
        parsed.problems += tables
        tables = ShellTables()
    _check_config(parsed)
    rules = _rules(parsed)
    if parsed.problems:
        raise PolicyProblems(parsed.problems)
    return parsed, PolicySet(
        revision=revision(files),
        rules=rules,
        config=parsed.config,
        rosters=parsed.rosters,
        tables=tables,
        shell_revision=revision(parsed.shell),
    )


def _test(parsed: Parsed, policies: PolicySet, *, layer: str) -> PolicySet:
    for rule in policies.rules:
        for at, text in failing_tests(policies, rule) if rule.source.startswith(layer) else ():
            parsed.report(rule.source, at, text)
    for rule, text in denied_suggestions(policies):
        parsed.report(rule.source, ("suggest",), text)
    if parsed.problems:
        raise PolicyProblems(parsed.problems)
    return policies


def _check_config(parsed: Parsed) -> None:
    config, ids = parsed.config, list(parsed.rules)
    for name in config.rules:
        if name not in parsed.rules:
            parsed.report(parsed.config_file, ("rules", name), unknown("rule", name, ids))
    for name in config.rosters:
        if name not in parsed.rosters:
            parsed.report(parsed.config_file, ("rosters",), unknown("roster", name, list(parsed.rosters)))
    try:
        words(config.never_block, config.lists)
    except UnknownListError as error:
        parsed.report(parsed.config_file, ("never_block",), unknown("list", str(error), list(config.lists)))


def _rules(parsed: Parsed) -> tuple[Rule, ...]:
    config = parsed.config
    ground = Ground(config.lists, config.shell_tools, frozenset(config.agent_tools))
    switched = {
        rule_id: config.rules.get(rule_id, "on" if rule.enabled else "off") == "on"
        for rule_id, rule in parsed.rules.items()
    }
    replaced: set[str] = set()
    for rule_id, rule in parsed.rules.items():
        for other in rule.replaces:
            if other not in parsed.rules:
                parsed.report(parsed.sources[rule_id], ("replaces",), unknown("rule", other, list(parsed.rules)))
        if switched[rule_id]:
            replaced.update(rule.replaces)
    out: list[Rule] = []
    for rule_id, rule in sorted(parsed.rules.items()):
        path = parsed.sources[rule_id]
        _check_rule(parsed, path, rule)
        try:
            out.append(_compile(rule, ground, path, enabled=switched[rule_id] and rule_id not in replaced))
        except UnknownListError as error:
            parsed.report_at_text(path, f"${error}", unknown("list", f"${error}", [f"${n}" for n in config.lists]))
        except ValueError as error:
            parsed.report(path, ("match",), str(error))
    return tuple(out)


def _check_rule(parsed: Parsed, path: str, rule: RuleFile) -> None:
    for at, text in (("reason", rule.reason), *(("suggest", s.text + s.prompt) for s in _suggests(rule))):
        for name in slots(text):
            if name not in PLACEHOLDERS:
                parsed.report(path, (at,), unknown("placeholder", f"{{{name}}}", [f"{{{p}}}" for p in PLACEHOLDERS]))
    _check_rewrite(parsed, path, rule)
    if not rule.tests.match:
        parsed.report(path, ("tests",), "a rule needs at least one call that it matches: `tests: {match: […]}`")
    if not rule.tests.not_match:
        parsed.report(path, ("tests",), "a rule needs at least one call that it lets pass: `tests: {not_match: […]}`")
    if isinstance(rule.match, list) and not rule.match:
        parsed.report(path, ("match",), "a rule needs at least one condition")
    if rule.on_failure == "deny" and rule.decision not in ("deny", "ask"):
        parsed.report(path, ("on_failure",), "`on_failure: deny` is for deny and ask rules")


def _check_rewrite(parsed: Parsed, path: str, rule: RuleFile) -> None:
    if rule.decision == "rewrite" and not rule.set:
        parsed.report(path, ("decision",), "a rewrite needs `set`, the input keys that it changes")
    if rule.decision != "rewrite" and rule.set:
        parsed.report(path, ("set",), f"`set` belongs to `decision: rewrite`; this one is `{rule.decision}`")
    if rule.set.get("model", "{model}") not in MODELS | {"{model}"}:
        allowed = ", ".join(f"`{name}`" for name in sorted(MODELS))
        parsed.report(
            path, ("set", "model"), f"`{rule.set['model']}` is no model that a client accepts; allowed: {allowed}"
        )


def _suggests(rule: RuleFile) -> list[Suggest]:
    value = rule.suggest
    if isinstance(value, str):
        return [Suggest(text=value)] if value else []
    return [value] if isinstance(value, Suggest) else value


def _compile(rule: RuleFile, ground: Ground, source: str, *, enabled: bool) -> Rule:
    missing = rule.on_failure == "deny"
    return Rule(
        id=rule.id,
        description=rule.description,
        decision=rule.decision,
        who=rule.who,
        modes=tuple(rule.modes or ()),
        enabled=enabled,
        given=compile_all(rule.match, ground, missing=missing),
        unless=compile_all(rule.unless, ground, missing=not missing, every_path=True),
        reason=rule.reason,
        set=rule.set,
        suggestions=tuple(
            Suggestion(s.agent, s.prompt, s.text, compile_all(s.if_ or [], ground, missing=False))
            for s in _suggests(rule)
        ),
        file=rule,
        source=source,
    )
