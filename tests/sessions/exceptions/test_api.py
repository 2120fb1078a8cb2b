"""`/exceptions` over real HTTP."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.http_calls import edits, ok, recorded, refused
from tests.support.server import until

LINE = "pkill -f runner"
SOON = (datetime.now(UTC) + timedelta(minutes=30)).isoformat()


@pytest.fixture
def asked(http, dora, session, blocked):
    """Request an exception from the refusal of an edit."""
    decided = until(lambda: (made := edits(dora, session))["decision"] == "block" and made)
    until(lambda: dora.get(f"/decisions/{decided['decision_id']}").status_code == 200)
    return ok(dora.post("/exceptions", json={"decision_id": decided["decision_id"], "reason": "release"}), 201)


def grant(http, one, scope="session", **more):
    return http.post(f"/exceptions/{one['id']}/grant", json={"scope": scope, "until": SOON} | more)


def test_an_exception_frees_calls_of_its_shape_and_is_recorded(http, dora, session, asked):
    assert (asked["state"], asked["shape"], asked["created_by"]) == ("requested", "Edit a.py", "dora")
    assert ok(grant(http, asked))["state"] == "granted"
    assert edits(dora, session)["decision"] == "allow"
    newest = until(lambda: (one := recorded(dora, session)[0])["overridden"] and one)
    assert {"id": "orchestrator/direct-edit", "effect": "lifted"} in newest["rules"]
    other = {"tool_name": "Edit", "tool_input": {"file_path": "b.py", "old_string": "a", "new_string": "b"}}
    assert ok(dora.post("/pre-tool-use", json=session | other))["decision"] == "block"
    refused(grant(http, asked), 409, "conflict", "already granted")
    ok(http.delete(f"/exceptions/{asked['id']}"), 204)
    assert edits(dora, session)["decision"] == "block"

    def told():
        events = ok(http.get("/events/topics/questions", params={"limit": 200}))["events"]
        return [one["data"]["answer"] for one in events if one["data"]["question_id"] == asked["id"]]

    until(lambda: told() == ["", "allow", "deny"])


def test_an_exception_for_once_frees_one_call(http, dora, session, asked):
    ok(grant(http, asked, "once"))
    assert [edits(dora, session)["decision"] for _ in range(3)] == ["allow", "block", "block"]
    assert ok(http.get("/exceptions", params={"state": "used"}))["items"][0]["id"] == asked["id"]


def test_exceptions_are_for_those_who_may(http, dora, eve, asked):
    refused(grant(dora, asked), 403, "forbidden", "which you may not change")
    query = {"session_id": asked["session_id"]}
    assert ok(dora.get("/exceptions", params=query))["items"] == [asked]
    assert ok(eve.get("/exceptions", params=query))["items"] == []
    refused(grant(eve, asked), 404, "not_found")
    refused(eve.post("/exceptions", json={"decision_id": asked["decision_id"], "reason": "r"}), 404, "not_found")
    refused(dora.get("/exceptions/proposals"), 403, "forbidden")
    assert ok(http.get("/exceptions/proposals")) == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"until": "2020-01-01T00:00:00Z"}, "`until`"),
        ({"scope": "everybody"}, "`scope`"),
        ({"scope": "project"}, "the call had none"),
    ],
)
def test_a_grant_that_makes_no_sense_is_refused(http, asked, body, text):
    if body == {"scope": "project"} and asked["project"]:
        pytest.skip("the call has a project")
    refused(grant(http, asked, **body), 422, "validation", text)


def test_a_refusal_names_the_request_for_its_exception(http, session):
    line = {"tool_name": "Bash", "tool_input": {"command": "git push --force origin main"}}
    said = ok(http.post("/pre-tool-use", json=session | line))
    assert f"baton request {said['decision_id']} --reason" in said["reason"]
