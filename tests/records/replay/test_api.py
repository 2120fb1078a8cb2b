"""Replay and hit counts over real HTTP, on real decisions."""

import json
from types import SimpleNamespace

import pytest

from baton.policies.in_force import InForce
from baton.records.replay import rule_hits_store
from baton.records.replay.service import Replay
from baton.rules.call.call import Principal
from tests.policies.test_layers_api import rule
from tests.support.cases import every
from tests.support.http_calls import introduce
from tests.support.server import served, until
from tests.support.shipped import shipped


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("replay") / "home") as running:
        for user, team, commands in (
            ("ann", "payments", ["deployer now", "deployer now", "ls"]),
            ("bob", "search", ["deployer now", ":(){ :|:& };:"]),
        ):
            with running.client(**{"Baton-User": user, "Baton-Team": team}) as http:
                for command in commands:
                    body = {"session_id": f"s-{user}", "tool_name": "Bash", "tool_input": {"command": command}}
                    http.post("/pre-tool-use", json=body)
                task = {"subagent_type": "explore", "prompt": "p", "description": "d"}
                http.post("/pre-tool-use", json={"session_id": "t", "tool_name": "Task", "tool_input": task})
        with running.client() as http:
            until(lambda: len(http.get("/decisions").json()["items"]) == 7)
        yield running


def replay(http, **body):
    response = http.post("/policies/replay", json=body)
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


CANDIDATE = {"team/no-deploy.yaml": rule(), "config.yaml": "rules:\n  guardrails/fork-bomb: off\n"}


def test_a_replay_says_what_would_change_by_rule_and_user(http):
    *lines, last = replay(http, files=CANDIDATE)
    progress = [line["progress"] for line in lines if "progress" in line]
    assert progress[0] == {"read": 0, "total": 7, "changed": 0}
    assert progress[-1] == {"read": 7, "total": 7, "changed": 4}
    summary = last["summary"]
    assert (summary["read"], summary["replayed"], summary["changed"]) == (7, 5, 4)
    assert summary["by_user"] == {"ann": 2, "bob": 2}
    assert summary["by_rule"] == {"team/no-deploy": 3, "guardrails/fork-bomb": 1}
    deny, allow = summary["changes"]
    assert (deny["before"], deny["after"], deny["users"]) == ("abstain", "deny by team/no-deploy", {"ann": 2, "bob": 1})
    assert allow["before"] == "deny by guardrails/fork-bomb"
    example = http.get(f"/decisions/{deny['examples'][0]}").json()
    assert example["command"] == "deployer now"


def test_it_lists_the_calls_that_change_one_by_one(http):
    calls = [one for line in replay(http, files=CANDIDATE) for one in line.get("calls", [])]
    assert [(one["user"], one["call"], one["before"], one["after"]) for one in calls] == [
        ("ann", "deployer now", "abstain", "deny by team/no-deploy"),
        ("ann", "deployer now", "abstain", "deny by team/no-deploy"),
        ("bob", "deployer now", "abstain", "deny by team/no-deploy"),
        ("bob", ":(){ :|:& };:", "deny by guardrails/fork-bomb", "abstain"),
    ]
    assert http.get(f"/decisions/{calls[0]['decision_id']}").json()["at"] == calls[0]["at"]


async def test_who_stops_reading_stops_the_replay(server, monkeypatch):
    pages = []

    async def calls(*_, **__):
        pages.append(1)
        return []

    async def count(*_):
        return 1_000

    monkeypatch.setattr(rule_hits_store, "calls", calls)
    monkeypatch.setattr(rule_hits_store, "count_calls", count)
    policies = SimpleNamespace(combinations=lambda: SimpleNamespace(whole=InForce(shipped())))
    run = Replay(None, policies).run(Principal(role="admin"), policies.combinations(), None, 1_000)
    assert (await anext(run)).progress.total == 1_000
    await run.aclose()
    assert pages == []


def test_it_says_what_could_not_be_replayed(http):
    summary = replay(http, files=CANDIDATE)[-1]["summary"]
    assert summary["not_replayed"] == {"the prompt of an agent is not recorded": 2}


def test_a_layer_of_a_team_is_replayed_on_its_calls_alone(http):
    summary = replay(http, files={"team/no-deploy.yaml": rule()}, tier="team", name="payments")[-1]["summary"]
    assert summary["by_user"] == {"ann": 2}


def test_the_same_policies_change_nothing(http):
    revision = http.get("/policies").json()["revision"]
    summary = replay(http, revision=revision)[-1]["summary"]
    assert (summary["changed"], summary["present_revision"]) == (0, summary["candidate_revision"])


def test_an_older_revision_is_replayed_below_the_layers_of_teams(server, http):
    introduce(server, teams=["payments"])
    revision = http.get("/policies").json()["revision"]
    where = "/policies/layers/team?name=payments&activate=true"
    assert http.put(where, json={"files": {"team/no-deploy.yaml": rule()}}).status_code == 200
    try:
        summary = replay(http, revision=revision)[-1]["summary"]
        assert (summary["replayed"], summary["changed"]) == (5, 0)
    finally:
        assert http.delete(where, headers={"If-Match": "*"}).status_code == 204


def test_a_limit_takes_the_oldest_and_says_so(http):
    summary = replay(http, files=CANDIDATE, limit=2)[-1]["summary"]
    assert (summary["read"], summary["truncated"]) == (2, True)


BAD = [
    ({}, "files"),
    ({"files": {}, "version": 1}, "files"),
    ({"files": {"a/b.yaml": "id: c"}}, "organisation/uploaded:a/b.yaml:1"),
    ({"files": {}, "since": "2026-05-02T00:00:00Z", "until": "2026-05-01T00:00:00Z"}, "since"),
    ({"files": {}, "since": "0001-01-01T00:00:00+14:00"}, "since"),
]


@every(("body", "field"), BAD, ids=[str(row[0]) for row in BAD])
def test_what_cannot_be_replayed_is_refused_before_it_starts(http, body, field):
    response = http.post("/policies/replay", json=body)
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, field)


def test_a_developer_may_not_replay_and_counts_their_own_hits_alone(server):
    with server.client(**{"Baton-User": "ann"}) as ann:
        assert ann.post("/policies/replay", json={"files": {}}).status_code == 403
        assert not any(one["hits"] for one in ann.get("/policies/rules").json() if "fork-bomb" in one["rule"])


def test_rules_are_counted_and_those_that_never_fired_are_named(http):
    counts = {one["rule"]: one for one in http.get("/policies/rules").json()}
    bomb = counts["guardrails/fork-bomb"]
    assert (bomb["hits"], bomb["users"], bomb["never_fired"]) == ({"deny": 1}, 1, False)
    assert bomb["last_hit"]
    quiet = counts["guardrails/write-device"]
    assert (quiet["hits"], quiet["never_fired"], "last_hit" in quiet) == ({}, True, False)
    period = {"since": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z"}
    assert all(one["never_fired"] for one in http.get("/policies/rules", params=period).json())


def test_a_rule_that_never_fired_spoke_to_nobody_and_nobody_reported_it(http):
    period = {"since": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z"}
    counts = http.get("/policies/rules", params=period).json()
    assert {(one["users"], one["reports"], one["never_fired"]) for one in counts} == {(0, 0, True)}
