"""`/rosters` over real HTTP: what agents there are, and a row that a team changes for itself."""

import pytest

WHERE = {"tier": "team", "name": "payments"}
ROW = "/rosters/claude-code/rows/Explore"


def row(server, team):
    with server.client(**{"Baton-Team": team}) as http:
        rows = http.get("/rosters/claude-code").json()["rows"]
    return next(one for one in rows if one["agent"] == "Explore")


def test_rosters_are_listed_in_their_order(http):
    found = http.get("/rosters").json()
    assert found[0]["id"] == "claude-code"
    assert all(one["agents"] for one in found)
    assert http.get("/rosters/nobody").status_code == 404


def test_a_team_s_override_changes_the_model_that_its_agents_get_and_no_other_team_s(server, http):
    before = row(server, "payments")["model"]
    stored = http.put(ROW, params=WHERE, json={"model": "opus"})
    assert (stored.status_code, stored.headers["ETag"]) == (200, '"1"')
    assert (row(server, "payments")["model"], row(server, "payments")["overridden"]) == ("opus", ["model"])
    assert (row(server, "search")["model"], row(server, "search")["overridden"]) == (before, [])
    body = {
        "session_id": "s",
        "tool_name": "Task",
        "tool_input": {"subagent_type": "Explore", "prompt": "p", "description": "d"},
    }
    with server.client(**{"Baton-Team": "payments"}) as payments:
        assert payments.post("/pre-tool-use", json=body).json()["modifiedInput"]["model"] == "opus"

    assert http.put(ROW, params=WHERE, json={"model": "haiku"}).status_code == 412
    second = http.put(ROW, params=WHERE, json={"model": "haiku"}, headers={"If-Match": '"1"'})
    gone = http.delete(ROW, params=WHERE, headers={"If-Match": second.headers["ETag"]})
    assert gone.headers["ETag"] == '"3"'
    assert row(server, "payments")["model"] == before
    assert http.delete(ROW, params=WHERE, headers={"If-Match": '"3"'}).status_code == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (ROW, {"model": "gpt"}),
        (ROW, {"colour": "red"}),
        ("/rosters/claude-code/rows/nobody", {"model": "opus"}),
        ("/rosters/nobody/rows/Explore", {"model": "opus"}),
    ],
)
def test_a_row_or_a_value_that_does_not_exist_is_refused(http, path, body):
    assert http.put(path, params={"tier": "team", "name": "t2"}, json=body).status_code == 422
    assert http.get("/policies/layers/team", params={"name": "t2"}).status_code == 404
