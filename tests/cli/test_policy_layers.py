"""`baton policy push`, `activate`, `rollback`, `history`, `replay`, `hits` as a person runs them, against a real server."""

import json

import pytest

from tests.policies.test_layers_api import rule
from tests.support.command_line import clean_environment, run
from tests.support.http_calls import introduce
from tests.support.server import until


@pytest.fixture
def baton(server, tmp_path):
    env = clean_environment(HOME=str(tmp_path), BATON_URL=server.url)
    return lambda *words: run("policy", *words, env=env, cwd=tmp_path)


@pytest.fixture
def folder(tmp_path, server):
    introduce(server, teams=["payments", "t2"])
    (tmp_path / "ours" / "team").mkdir(parents=True)
    (tmp_path / "ours" / "team" / "no-deploy.yaml").write_text(rule())
    return tmp_path / "ours"


def ask(server, command="deployer now"):
    """Ask until the set of the team's layer is built, for which a call waits only so long."""
    body = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": command}}
    with server.client(**{"Baton-User": "ann", "Baton-Team": "payments"}) as http:
        made = until(lambda: (one := http.post("/pre-tool-use", json=body).json())["degraded"] == [] and one)
        return made["decision"]


def test_a_lead_pushes_replays_activates_and_rolls_back(server, baton, folder):
    where = ("--tier", "team", "--name", "payments")
    assert ask(server) == "allow"
    with server.client() as http:
        until(lambda: http.get("/decisions", params={"user": "ann"}).json().get("items"))

    replayed = baton("replay", "--since", "1h", "--candidate", str(folder), *where)
    assert replayed.returncode == 0, replayed.stderr
    assert "1 would change" in replayed.stdout
    assert "no rule → deny by team/no-deploy: ann (1)" in replayed.stdout

    pushed = baton("push", str(folder), *where, "--reason", "no deploys by hand")
    assert pushed.returncode == 0, pushed.stderr
    assert "not active" in pushed.stdout
    assert ask(server) == "allow"
    assert baton("activate", "1", *where).returncode == 0
    assert ask(server) == "block"

    (folder / "team" / "no-deploy.yaml").write_text(rule(decision="ask"))
    assert baton("push", str(folder), *where, "--activate", "--reason", "ask instead").returncode == 0
    assert ask(server) == "ask"
    assert "version 1 of team payments" in baton("rollback", *where).stdout
    assert ask(server) == "block"

    versions = json.loads(baton("history", *where, "--json").stdout)
    assert [(one["version"], one["state"], one["reason"]) for one in versions] == [
        (2, "retired", "ask instead"),
        (1, "active", "no deploys by hand"),
    ]

    def counts():
        return {one["rule"]: one["hits"] for one in json.loads(baton("hits", "--json").stdout)}

    until(lambda: counts().get("team/no-deploy") == {"ask": 1, "deny": 2})
    assert "never since 20" in baton("hits").stdout

    compared = baton("compare", *where, "--from", "1", "--to", "2").stdout
    assert "version 1 → 2" in compared
    assert "  changed team/no-deploy" in compared
    assert "+decision: ask" in compared
    assert json.loads(baton("compare", *where, "--from", "0", "--json").stdout)["after"] == 2
    assert "no longer active" in baton("remove", *where).stdout
    assert ask(server) == "allow"


def test_a_refused_push_names_every_problem(baton, folder):
    (folder / "config.yaml").write_text("rules:\n  no/such: on\n  nor/this: on\n")
    refused = baton("push", str(folder), "--tier", "team", "--name", "t2", "--reason", "r")
    assert refused.returncode == 1
    for line in (2, 3):
        assert f"team/t2:config.yaml:{line}: unknown rule" in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("push", "nowhere", "--tier", "team", "--reason", "r"), "is not a folder"),
        (("replay",), "--candidate"),
        (("replay", "--version", "1", "--since", "soon"), "neither a time span"),
    ],
)
def test_an_impossible_command_names_the_reason(baton, words, said):
    done = baton(*words)
    assert (done.returncode, said in done.stderr) == (2, True)


def test_an_admin_unlocks_a_rule_for_a_team_and_locks_it_again(server, baton):
    introduce(server, users=["ann"])
    assert "Nothing is unlocked." in baton("unlocks").stdout
    refused = baton("unlock", "guardrails/fork-bob", "--reason", "r")
    assert (refused.returncode != 0, "did you mean `guardrails/fork-bomb`" in refused.stderr) == (True, True)
    made = baton("unlock", "guardrails/fork-bomb", "--for", "2h", "--user", "ann", "--reason", "a lecture").stdout
    assert "guardrails/fork-bomb is unlocked for ann until" in made
    assert "a lecture" in baton("unlocks").stdout
    (one,) = json.loads(baton("unlocks", "--json").stdout)
    assert f"baton policy relock {one['id']}" in made
    assert "`baton policy unlocks` lists them" in baton("relock", "guardrails/fork-bomb").stderr
    assert "the lock holds again" in baton("relock", one["id"], "--reason", "over").stdout
    assert json.loads(baton("unlocks", "--json").stdout) == []


def test_status_and_explain_name_the_lock_and_the_unlock(server, baton, tmp_path):
    env = clean_environment(HOME=str(tmp_path), BATON_URL=server.url)
    made = json.loads(baton("unlock", "guardrails/remove-*", "--for", "2h", "--reason", "a lecture", "--json").stdout)
    payload = json.dumps({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}})
    explained = run("explain", env=env, cwd=tmp_path, stdin=payload).stdout
    assert "guardrails/remove-root: deny, locked by `guardrails/*`, unlocked by" in explained
    assert "guardrails/remove-* is unlocked for everybody until" in run("status", env=env, cwd=tmp_path).stdout
    baton("relock", made["id"])
    explained = run("explain", "--all", env=env, cwd=tmp_path, stdin=payload).stdout
    assert "guardrails/remove-root: deny, locked by `guardrails/*`\n" in explained
    assert "not guardrails/fork-bomb:" in explained
