"""Requests of a policy editor: the schema, and test results of a layer being written."""

import pytest

from tests.policies.test_layers_api import rule
from tests.support.cases import every
from tests.support.http_calls import introduce
from tests.support.server import served


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("drafts") / "home") as running:
        yield running


@pytest.fixture
def http(server):
    with server.client() as client:
        yield client


def trial(http, files, **more):
    answer = http.post("/policies/test", json={"files": files} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_schema_of_each_kind_of_file_is_served(http):
    schemas = http.get("/policies/schema").json()
    assert set(schemas) == {"rule", "config", "roster"}
    assert "RuleFile" in schemas["rule"]["$defs"]


def test_each_test_has_a_result_with_its_line_and_nothing_is_stored(http):
    before = http.get("/policies").json()["revision"]
    found = trial(http, {"team/no-deploy.yaml": rule()})
    assert (found["accepted"], found["problems"]) == (True, [])
    assert {(one["file"], one["rule"], one["group"], one["passed"]) for one in found["tests"]} == {
        ("team/no-deploy.yaml", "team/no-deploy", "match", True),
        ("team/no-deploy.yaml", "team/no-deploy", "not_match", True),
    }
    assert all(one["line"] > 0 and "failure" not in one for one in found["tests"])
    assert http.get("/policies").json()["revision"] == before
    assert http.get("/policies/layers").json() == []


def test_a_test_that_fails_is_a_result_and_keeps_the_layer_from_being_accepted(http):
    found = trial(http, {"team/no-deploy.yaml": rule().replace("deployer now", "deploier now")})
    assert not found["accepted"]
    failed = [one for one in found["tests"] if not one["passed"]]
    assert [(one["group"], one["index"]) for one in failed] == [("match", 0)]
    assert "should match and does not" in failed[0]["failure"]
    assert [(one["file"], one["line"]) for one in found["problems"]] == [("team/no-deploy.yaml", failed[0]["line"])]


WRONG = [("id: [", "team/x.yaml"), ("id: team/x\nmatch: {tool: Edit}\n", "team/x.yaml"), ("", "team/x.yaml")]


@every(("text", "path"), WRONG, ids=["not yaml", "unknown key", "empty"])
def test_an_unreadable_draft_is_reported_with_file_and_line(http, text, path):
    found = trial(http, {path: text})
    assert (found["accepted"], found["tests"], "revision" in found) == (False, [], False)
    assert found["problems"][0]["file"] == path
    assert found["problems"][0]["line"] >= 1


def test_an_empty_layer_is_accepted(http):
    assert trial(http, {}) == {
        "accepted": True, "revision": http.get("/policies").json()["revision"], "problems": [], "tests": [], "changes": {},
        "rules": len(http.get("/policies").json()["rules"]),
    }  # fmt: skip


def test_readers_see_a_draft_s_changes_to_the_active_version(server, http):
    introduce(server, teams=["web"])
    where = "/policies/layers/team?name=web&activate=true"
    files = {"team/no-deploy.yaml": rule()}
    assert http.put(where, json={"files": files}).status_code == 200
    changed = {"team/no-deploy.yaml": rule().replace("deny", "ask")}
    found = trial(http, changed, tier="team", name="web")["changes"]["team/no-deploy.yaml"]
    assert found.splitlines()[:2] == ["--- in force", "+++ draft"]
    assert "-decision: deny\n+decision: ask" in found
    assert trial(http, files, tier="team", name="web")["changes"] == {}
    with server.client(**{"Baton-User": "eve"}) as eve:
        shown = trial(eve, changed, tier="team", name="web")["changes"]["team/no-deploy.yaml"]
    assert "decision: deny" not in shown
    assert http.delete("/policies/layers/team?name=web", headers={"If-Match": "*"}).status_code == 204


def test_a_lock_is_a_problem_below_the_organisation(http):
    found = trial(http, {"config.yaml": "rules:\n  guardrails/fork-bomb: off\n"}, tier="user")
    assert "locked" in found["problems"][0]["text"]


def test_a_developer_may_test_a_draft(server):
    with server.client(**{"Baton-User": "ann"}) as ann:
        assert trial(ann, {"team/no-deploy.yaml": rule()}, tier="user")["accepted"]
