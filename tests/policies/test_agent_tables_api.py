"""`/policies/agents` over real HTTP: the agents, and a row overridden by a team for itself."""

import pytest

from tests.support.cases import every
from tests.support.http_calls import introduce

TEAM = {"name": "payments"}
ROW = "/policies/layers/team/agents/claude-code/Explore"


def row(server, team):
    with server.client(**{"Baton-Team": team}) as http:
        rows = http.get("/policies/agents/claude-code").json()["rows"]
    return next(one for one in rows if one["agent"] == "Explore")


@pytest.fixture(autouse=True)
def teams(server):
    introduce(server, teams=["payments", "ones"])


def test_tables_are_listed_in_their_order(http):
    found = http.get("/policies/agents").json()
    assert found[0]["id"] == "claude-code"
    assert all(one["agents"] for one in found)
    missing = http.get("/policies/agents/claude-cod")
    assert missing.status_code == 404
    assert "did you mean `claude-code`" in missing.json()["detail"]


def test_a_team_s_override_changes_the_model_that_its_agents_get_and_no_other_team_s(server, http):
    before = row(server, "payments")["model"]
    stored = http.put(ROW, params=TEAM, json={"model": "opus"})
    assert (stored.status_code, stored.headers["ETag"]) == (200, '"1"')
    shown = http.get(ROW, params=TEAM)
    assert shown.json() == stored.json() == {
        "tier": "team",
        "name": "payments",
        "version": 1,
        "table": "claude-code",
        "agent": "Explore",
        "override": {"model": "opus"},
    }  # fmt: skip
    assert shown.headers["ETag"] == '"1"'
    assert (row(server, "payments")["model"], row(server, "payments")["overridden"]) == ("opus", ["model"])
    assert (row(server, "search")["model"], row(server, "search")["overridden"]) == (before, [])
    body = {
        "session_id": "s",
        "tool_name": "Task",
        "tool_input": {"subagent_type": "Explore", "prompt": "p", "description": "d"},
    }
    with server.client(**{"Baton-Team": "payments"}) as payments:
        assert payments.post("/pre-tool-use", json=body).json()["modifiedInput"]["model"] == "opus"

    assert http.put(ROW, params=TEAM, json={"model": "haiku"}).status_code == 412
    second = http.put(ROW, params=TEAM, json={"model": "haiku"}, headers={"If-Match": shown.headers["ETag"]})
    gone = http.delete(ROW, params=TEAM, headers={"If-Match": second.headers["ETag"]})
    assert (gone.status_code, gone.headers["ETag"]) == (204, '"3"')
    assert row(server, "payments")["model"] == before
    assert http.get(ROW, params=TEAM).status_code == 404
    assert http.delete(ROW, params=TEAM, headers={"If-Match": '"3"'}).status_code == 404


def test_an_override_belongs_to_one_layer(http):
    assert http.put(ROW, params={"name": "ones"}, json={"model": "opus"}).status_code == 200
    assert http.get(ROW, params={"name": "others"}).status_code == 404
    assert http.get(ROW.replace("/Explore", "/Plan"), params={"name": "ones"}).status_code == 404


@every(
    ("path", "body"),
    [
        (ROW, {"model": "gpt"}),
        (ROW, {"colour": "red"}),
        (ROW.replace("Explore", "nobody"), {"model": "opus"}),
        (ROW.replace("claude-code", "nobody"), {"model": "opus"}),
    ],
)
def test_a_row_or_a_value_that_does_not_exist_is_refused(http, path, body):
    assert http.put(path, params={"name": "t2"}, json=body).status_code == 422
    assert http.get("/policies/layers/team", params={"name": "t2"}).status_code == 404
