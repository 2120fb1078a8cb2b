"""`/overrides` over real HTTP."""

import pytest

from tests.support.http_calls import edits, ok, recorded, refused


def lifts(http, session, **body):
    given = {"session_id": session["session_id"], "user": "dora", "rule": "*", "reason": "release"}
    return http.post("/overrides", json=given | body)


def test_a_lifted_rule_has_no_effect_on_that_session_and_is_recorded(http, dora, session, blocked):
    made = ok(lifts(http, session, rule="orchestrator/direct-edit", minutes=5), 201)
    assert made["created_by"] != "dora"
    assert edits(dora, session)["decision"] == "allow"
    assert edits(dora, session | {"session_id": "another"})["decision"] == "allow"
    newest = recorded(dora, session, 2)[0]
    assert newest["overridden"]
    assert {"id": "orchestrator/direct-edit", "effect": "lifted"} in newest["rules"]
    ok(http.delete(f"/overrides/{made['id']}"), 204)
    assert edits(dora, session)["decision"] == "block"


def test_every_rule_of_the_mode_is_lifted_by_a_star_and_guardrails_are_not(http, dora, session, blocked):
    ok(lifts(http, session), 201)
    assert edits(dora, session)["decision"] == "allow"
    removal = {"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}
    assert ok(dora.post("/pre-tool-use", json=session | removal))["decision"] == "block"


def test_an_override_finds_its_user_by_the_recorded_calls(http, session, blocked):
    assert ok(lifts(http, session, user=""), 201)["user"] == "dora"
    refused(lifts(http, {"session_id": "nobodys"}, user=""), 422, "validation", "no call of a session `nobodys`")


def test_overrides_are_for_those_who_may(http, dora, eve, session, blocked):
    refused(lifts(dora, session), 403, "forbidden", "`overrides.write`")
    made = ok(lifts(http, session), 201)
    query = {"session_id": session["session_id"]}
    assert ok(dora.get("/overrides", params=query))["items"] == [made]
    assert ok(eve.get("/overrides", params=query))["items"] == []
    refused(http.delete("/overrides/none"), 404, "not_found")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"minutes": 481}, "`minutes`"),
        ({"minutes": 0}, "`minutes`"),
        ({"reason": ""}, "`reason`"),
        ({"rule": "orchestrator/direct-edits"}, "did you mean `orchestrator/direct-edit`"),
    ],
)
def test_an_override_that_makes_no_sense_is_refused(http, session, body, text):
    refused(lifts(http, session, **body), 422, "validation", text)
