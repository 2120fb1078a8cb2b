"""`GET /analytics/delegation` over real HTTP."""

from datetime import UTC, datetime, timedelta

from tests.support.http_calls import edits, ok, recorded, refused


def test_delegation_tells_what_a_session_delegated(http, dora, eve, session, blocked):
    explore = {"subagent_type": "Explore", "prompt": "p", "description": "d"}
    ok(dora.post("/pre-tool-use", json=session | {"tool_name": "Agent", "tool_input": explore}))
    ok(dora.post("/pre-tool-use", json=session | {"tool_name": "Read", "tool_input": {"file_path": "b"}}))
    spawn = {"tool_name": "collaborationspawn_agent", "tool_input": {"message": "m"}, "client": "codex"}
    ok(dora.post("/pre-tool-use", json=session | spawn))
    edits(dora, session, agent_id="a1")
    recorded(dora, session, 5)
    query = {"by": "session", "session_id": session["session_id"]}
    (group,) = ok(dora.get("/analytics/delegation", params=query))["items"]
    assert (group["calls"], group["delegated"], group["direct"], group["blocked"]) == (5, 3, 1, 1)
    assert (group["share_delegated"], group["injected"], group["cheaper"]) == (0.75, {"haiku": 1}, 1)
    (group,) = ok(http.get("/analytics/delegation", params=query | {"parent": "haiku"}))["items"]
    assert group["cheaper"] == 0
    assert ok(eve.get("/analytics/delegation", params=query))["items"] == []
    days = {item["day"] for item in ok(dora.get("/analytics/delegation"))["items"]}
    assert days & {(datetime.now(UTC) - timedelta(days=ago)).date().isoformat() for ago in (0, 1)}, "midnight may pass"


def test_delegation_over_years_is_refused(http):
    since = (datetime.now(UTC) - timedelta(days=400)).isoformat()
    refused(http.get("/analytics/delegation", params={"since": since}), 422, "validation", "366 days")
