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


def test_a_group_that_goes_on_while_it_is_paged_through_is_on_the_page_where_it_was(dora, session):
    names = [f"{session['session_id']}-{name}" for name in "ab"]

    def call(name, stored):
        ok(dora.post("/pre-tool-use", json=session | {"session_id": name, "tool_name": "Read", "tool_input": {}}))
        recorded(dora, session | {"session_id": name}, stored)

    def page(cursor=""):
        query = {"by": "session", "project": session["project"], "limit": 1, "cursor": cursor}
        return ok(dora.get("/analytics/delegation", params=query))

    for name in names:
        call(name, 1)
    first = page()
    call(names[0], 2)
    second = page(first["next_cursor"])
    assert [(one["session_id"], one["calls"]) for one in (*first["items"], *second["items"])] == [
        (names[1], 1),
        (names[0], 1),
    ]
