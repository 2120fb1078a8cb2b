"""Too many calls of one user: the refusal is a decision, in every dialect, with Redis and without."""

import re

import pytest

from baton.kernel.base.call_rate import CallRate
from baton.rules.call.call import Principal
from tests.support.processes import children
from tests.support.server import served, serving, until

READ = {"session_id": "s", "tool_name": "Read", "tool_input": {"file_path": "a.py"}}


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    with served(tmp_path_factory.mktemp("rate") / "home", BATON_RATE_PER_MINUTE="1", BATON_RATE_BURST="3") as running:
        yield running


def test_an_agent_that_loops_is_blocked_in_words_and_that_is_recorded(limited):
    with limited.client(**{"Baton-User": "looper"}) as looper, limited.client(**{"Baton-User": "other"}) as other:
        answers = [looper.post("/pre-tool-use", json=READ | {"tool_use_id": f"t{n}"}) for n in range(4)]
        assert [(answer.status_code, answer.json()["decision"]) for answer in answers] == [(200, "allow")] * 3 + [
            (200, "block")
        ]
        refused = answers[3].json()
        assert [rule["id"] for rule in refused["rules"]] == ["limits/rate"]
        assert re.search(r"\b(60|5\d) s\b", refused["reason"]), "less by what the calls took"
        again = looper.post("/pre-tool-use", json=READ | {"tool_use_id": "t0"}).json()
        assert again["decision_id"] == answers[0].json()["decision_id"], "a retry is no new call"
        native = looper.post("/hooks/claude-code", json=READ | {"hook_event_name": "PreToolUse", "tool_use_id": "n"})
        assert native.json()["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert other.post("/pre-tool-use", json=READ).json()["decision"] == "allow"
        found = until(lambda: looper.get("/decisions", params={"rule": "limits/rate"}).json().get("items"))
        assert {one["decision"] for one in found} == {"block"}


@pytest.mark.slow("starts a server of its own")
def test_refusals_are_counted_in_metrics_status_and_the_decision(tmp_path):
    with serving(tmp_path / "home", BATON_RATE_PER_MINUTE="1", BATON_RATE_BURST="1") as server:
        with server.client(**{"Baton-User": "looper"}) as looper:
            asked = [looper.post("/pre-tool-use", json=READ | {"tool_use_id": str(n)}).json() for n in range(21)]
            assert [one["decision"] for one in asked] == ["allow"] + ["block"] * 20
        counted = r'baton_decisions_total\{effect="deny",mode="off",rule="limits/rate"\} 20\.0'
        with server.client() as admin:
            until(lambda: re.search(counted, admin.get("/metrics").text))
        server.stop()
        server.start()
        with server.client() as admin:
            (found,) = admin.get("/decisions", params={"rule": "limits/rate"}).json()["items"]
            assert (found["id"], found["repeats"]) == (asked[1]["decision_id"], 19)
            assert admin.get("/status").json()["decisions"]["deny"] == 20


def test_without_redis_each_process_counts_by_itself(limited):
    (valkey,) = children(limited.process.pid, called="valkey-server")
    valkey.suspend()
    try:
        with limited.client(**{"Baton-User": "cut-off"}) as http:
            answers = [http.post("/pre-tool-use", json=READ).json() for _ in range(4)]
    finally:
        valkey.resume()
    assert [answer["decision"] for answer in answers] == ["allow"] * 3 + ["block"]
    assert answers[3]["degraded"] == ["history"]


def test_the_local_counter_equals_redis():
    now = [0.0]
    rate = CallRate(60, 2, lambda: now[0])
    alice, bob = Principal(user="alice"), Principal(user="bob")
    assert [rate.count(alice) for _ in range(3)] == [0, 0, 1001]
    assert rate.count(bob) == 0
    now[0] = 1.1
    assert [rate.count(alice) > 0 for _ in range(2)] == [False, True]
