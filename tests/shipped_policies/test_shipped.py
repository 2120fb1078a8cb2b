"""The shipped policies as a whole."""

from fnmatch import fnmatchcase

import jsonschema

from baton.lib.text.yaml_lines import parse
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.lint import facts_of
from baton.rules.policy.rules.model import Case, json_schema
from tests.support.shipped import shipped_files

FILES = {p: t for p, t in shipped_files().items() if not p.startswith("shell/")}


def test_each_file_satisfies_its_json_schema():
    validators = {kind: jsonschema.Draft202012Validator(schema) for kind, schema in json_schema().items()}
    for path, text in FILES.items():
        kinds = {"config.yaml": "config", "pack.yaml": "pack"}
        kind = "roster" if path.startswith("agents/") else kinds.get(path.rpartition("/")[2], "rule")
        assert [error.message for error in validators[kind].iter_errors(parse(text)[0])] == [], path


def test_guardrails_and_models_always_run_and_options_and_packs_are_off(shipped):
    for rule in shipped.rules:
        folder = rule.id.split("/")[0]
        assert (rule.modes != ()) == (folder == "orchestrator" or rule.id == "options/direct-edit-paths"), rule.id
        assert rule.enabled == (folder not in {"options", "packs"}), rule.id
        if folder == "guardrails":
            assert rule.who == "any"


def test_each_rule_has_matching_and_other_examples(shipped):
    for rule in shipped.rules:
        assert len(rule.tests.match) >= 1
        assert len(rule.tests.not_match) >= 2, rule.id


def test_no_message_leaves_a_placeholder_empty(shipped):
    for rule in shipped.rules:
        for one in rule.tests.match:
            case = Case(bash=one) if isinstance(one, str) else one
            assert "`…`" not in evaluate(shipped, facts_of(case, rule)).reason, (rule.id, case)


def test_variables_redirecting_a_client_are_refused_in_start_up_files():
    lists = parse(FILES["config.yaml"])[0]["lists"]
    names = [one.partition("=")[0] for one in lists["client_homes"]]
    written = [f"export {name.replace('*', 'X')}=1" for name in names if name not in {"HOME", "USERPROFILE", "BATON_*"}]
    assert [text for text in written if not any(fnmatchcase(text, glob) for glob in lists["client_variables"])] == []


def test_the_seeds_roster_is_complete(shipped):
    names = [
        "explore",
        "style-reviewer",
        "writer",
        "analyst",
        "planner",
        "architect",
        "deep-executor",
        "code-reviewer",
        "critic",
        "executor",
        "debugger",
        "verifier",
        "quality-reviewer",
        "api-reviewer",
        "security-reviewer",
        "performance-reviewer",
        "dependency-expert",
        "test-engineer",
        "quality-strategist",
        "build-fixer",
        "designer",
        "qa-tester",
        "scientist",
        "git-master",
        "database-expert",
        "devops-engineer",
        "i18n-specialist",
        "accessibility-auditor",
        "api-designer",
        "deployment-manager",
        "product-manager",
        "ux-researcher",
        "information-architect",
        "product-analyst",
        "vision",
        "document-specialist",
        "researcher",
        "tdd-guide",
    ]
    roster = shipped.rosters.by_id["ultrapower"]
    assert set(names) <= roster.agents.keys()
    assert all(row.description for row in roster.agents.values())
