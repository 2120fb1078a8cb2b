import json

import pytest

from tests.support.command_line import clean_environment
from tests.support.command_line import run as run_baton

RULE = """id: team/no-deploy
description: x
match: {shell: {program: deploy}}
decision: deny
reason: no
tests: {match: [deploy now], not_match: [ls]}
"""


@pytest.fixture
def run(tmp_path):
    def typed(*args, stdin=""):
        env = clean_environment(BATON_HOME=str(tmp_path / "home"))
        done = run_baton("policy", *args, env=env, cwd=tmp_path, stdin=stdin)
        return done.returncode, done.stdout + done.stderr

    return typed


@pytest.fixture
def team(tmp_path):
    path = tmp_path / "policies" / "team" / "no-deploy.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(RULE)
    return tmp_path / "policies"


def test_the_shipped_set_passes(run):
    assert run("test")[0] == 0
    code, text = run("test", "shipped", "--json")
    assert code == 0
    assert json.loads(text)["ok"] is True
    assert run("lint")[0] == 0


def test_a_failing_test_is_reported_with_file_and_line(run, team):
    path = team / "team" / "no-deploy.yaml"
    path.write_text(RULE.replace("deploy now", "ship now"))
    code, text = run("test", team)
    assert code == 1
    assert "organisation:team/no-deploy.yaml:6: the test `ship now` should match and does not" in text
    code, text = run("test", team, "--json")
    assert (code, json.loads(text)["problems"][0]["line"]) == (1, 6)


def test_explain_names_the_deciding_rule_and_why_others_do_not_match(run, team):
    payload = json.dumps({"toolName": "Bash", "toolInput": {"command": "deploy prod"}, "cwd": "/repo"})
    code, text = run("explain", team, stdin=payload)
    assert code == 0
    assert text.startswith("deny, decided by team/no-deploy")
    assert "guardrails/fork-bomb (deny): `shell.fork_bomb`" in text
    code, text = run("explain", team, "--json", stdin=payload)
    assert json.loads(text)["verdict"]["rule"] == "team/no-deploy"
    history = run("explain", "--history", "Read", stdin='{"tool_name": "Read", "tool_input": {}}')[1]
    assert history.startswith("deny, decided by orchestrator/second-lookup")


@pytest.mark.parametrize(
    ("args", "stdin", "expected"),
    [
        (["explain"], "", "no payload; give one such as"),
        (["explain"], "[1]", "a payload must be a JSON object"),
        (["explain"], "{}", "a payload needs `tool_name`"),
        (["explain", "--level", "strickt"], '{"tool_name": "x"}', "unknown level `strickt`; did you mean `strict`?"),
        (["test", "/dev/null/x"], "", "`/dev/null/x` is not a folder"),
        (["new", "Nope"], "", "`Nope` is not a rule id; allowed: folder/name"),
        (["schema", "rul"], "", "unknown kind `rul`; did you mean `rule`?"),
    ],
)
def test_an_impossible_command_exits_with_2(run, args, stdin, expected):
    code, text = run(*args, stdin=stdin)
    assert code == 2
    assert expected in text


def test_diff_shows_rules_and_verdicts(run, team, tmp_path):
    calls = tmp_path / "calls.jsonl"
    calls.write_text('{"tool_name": "Bash", "tool_input": {"command": "deploy"}}\n{"tool_name": "Read"}\n')
    code, text = run("diff", "shipped", team, "--calls", calls)
    assert code == 1
    assert "added team/no-deploy: on" in text
    assert "call 1: allow by orchestrator/otherwise → deny by team/no-deploy" in text
    assert "call 2" not in text
    assert run("diff", "shipped", "shipped")[0] == 0


def test_a_new_rule_passes_its_own_tests(run, tmp_path):
    code, _ = run("new", "team/first", tmp_path / "own")
    assert code == 0
    assert run("test", tmp_path / "own")[0] == 0
    assert run("new", "team/first", tmp_path / "own")[0] == 2


def test_schemas_are_printed_and_written(run, tmp_path):
    assert json.loads(run("schema", "roster")[1])["$schema"].startswith("https://json-schema.org")
    run("schema", "--write", tmp_path / "s")
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [
        "config.json",
        "pack.json",
        "roster.json",
        "rule.json",
    ]
