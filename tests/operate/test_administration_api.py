"""Administration over real HTTP: audit, modes, overrides, reports, sessions, retention, delegation."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.server import until


@pytest.fixture
def dora(server):
    with server.client(**{"Baton-User": "dora"}) as client:
        yield client


@pytest.fixture
def eve(server):
    with server.client(**{"Baton-User": "eve"}) as client:
        yield client


def ok(response, status=200):
    assert response.status_code == status, response.text
    return response.json() if response.content else None


def refused(response, status, code, text=""):
    assert (response.status_code, response.json()["code"]) == (status, code), response.text
    assert text in response.json()["detail"], response.text


def strict(client, session):
    body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": "strict"}
    ok(client.put("/mode", json=body))


def edits(client, session, **more):
    call = {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"}}
    return ok(client.post("/pre-tool-use", json=session | call | more))


def recorded(client, session, count=1):
    query = {"session_id": session["session_id"]}
    return until(
        lambda: (page := client.get("/decisions", params=query).json()["items"]) and len(page) >= count and page
    )


@pytest.fixture
def blocked(dora, session):
    """A decision that blocked dora."""
    strict(dora, session)
    assert edits(dora, session)["decision"] == "block"
    return recorded(dora, session)[0]


def lifts(http, session, **body):
    given = {"session_id": session["session_id"], "user": "dora", "rule": "*", "reason": "release"}
    return http.post("/overrides", json=given | body)


def test_a_change_is_in_the_audit_log_with_who_and_what(http, dora, session):
    strict(dora, session)
    (entry,) = ok(http.get("/audit", params={"kind": "mode", "object": f"session dora {session['session_id']}"}))[
        "items"
    ]
    assert (entry["actor"], entry["role"], entry["before"]) == ("dora", "developer", {})
    assert entry["after"]["level"] == "strict"


@pytest.mark.parametrize("how", ["DELETE", "PUT"])
def test_why_a_mode_was_removed_is_in_the_audit_log(http, dora, session, how):
    strict(dora, session)
    if how == "DELETE":
        where = {"scope": "session", "id": session["session_id"], "reason": "done"}
        ok(dora.delete("/mode", params=where), 204)
    else:
        ok(dora.put("/mode", json={"scope": "user", "enabled": False, "reason": "done"}))
    query = {"kind": "mode", "object": f"session dora {session['session_id']}"}
    removed, _ = ok(http.get("/audit", params=query))["items"]
    assert (removed["action"], removed["before"]["level"], removed["reason"]) == ("mode.remove", "strict", "done")


def test_the_audit_log_is_paged_without_loss(http, dora, session):
    for level in ("strict", "guidance", "strict"):
        body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": level}
        ok(dora.put("/mode", json=body))
    query = {"object": f"session dora {session['session_id']}", "limit": 2}
    first = ok(http.get("/audit", params=query))
    rest = ok(http.get("/audit", params=query | {"cursor": first["next_cursor"]}))
    assert [item["after"]["level"] for item in first["items"] + rest["items"]] == ["strict", "guidance", "strict"]
    assert "next_cursor" not in rest


def test_developers_do_not_read_the_audit_log(dora):
    refused(dora.get("/audit"), 403, "forbidden", "`audit.read`")


def test_no_route_changes_the_audit_log(http):
    paths = ok(http.get("/openapi.json"))["paths"]
    assert {path: sorted(set(paths[path]) - {"parameters"}) for path in paths if "audit" in path} == {"/audit": ["get"]}
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert http.request(method, "/audit").status_code == 405


@pytest.mark.parametrize("path", ["/audit", "/modes", "/reports", "/overrides", "/sessions", "/analytics/delegation"])
def test_a_foreign_cursor_and_a_huge_page_are_refused(http, path):
    refused(http.get(path, params={"cursor": "AAAA"}), 422, "validation", "`cursor`")
    refused(http.get(path, params={"limit": 201}), 422, "validation", "`limit`")


def test_modes_are_listed_as_far_as_one_may_see(http, dora, eve, session):
    strict(dora, session)
    query = {"scope": "session", "id": session["session_id"]}
    (mine,) = ok(dora.get("/modes", params=query))["items"]
    assert (mine["user"], mine["level"]) == ("dora", "strict")
    assert ok(http.get("/modes", params=query))["items"] == [mine]
    assert ok(eve.get("/modes", params=query))["items"] == []


def test_modes_are_paged_without_loss(dora, session):
    for number in range(3):
        strict(dora, {"session_id": f"{session['session_id']}-{number}"})
    found, cursor = [], ""
    while True:
        page = ok(dora.get("/modes", params={"user": "dora", "scope": "session", "limit": 2, "cursor": cursor}))
        found += [item["id"] for item in page["items"]]
        cursor = page.get("next_cursor")
        if not cursor:
            break
    assert len(found) == len(set(found))
    assert {f"{session['session_id']}-{number}" for number in range(3)} <= set(found)


def test_a_mode_is_not_set_over_somebodys_newer_one(dora, session):
    strict(dora, session)
    body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": "guidance"}
    (mine,) = ok(dora.get("/modes", params={"id": session["session_id"]}))["items"]
    changed = dora.put("/mode", json=body, headers={"If-Match": mine["etag"]})
    ok(changed)
    stale = dora.put("/mode", json=body, headers={"If-Match": mine["etag"]})
    refused(stale, 412, "precondition_failed", changed.headers["etag"])


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


def test_a_report_is_made_listed_and_answered(http, dora, eve, blocked):
    made = ok(dora.post("/reports", json={"decision_id": blocked["id"], "comment": "a one-line fix"}), 201)
    assert (made["rule"], made["state"], made["user"]) == ("orchestrator/direct-edit", "open", "dora")
    path = f"/reports/{made['id']}"
    again = dora.post("/reports", json={"decision_id": blocked["id"]})
    refused(again, 409, "conflict", "already")
    refused(eve.post("/reports", json={"decision_id": blocked["id"]}), 404, "not_found")
    refused(eve.get(path), 404, "not_found")
    assert made in ok(http.get("/reports", params={"rule": made["rule"], "state": "open"}))["items"]
    answer = {"state": "accepted", "answer": "the rule will spare those"}
    refused(dora.put(path, json=answer), 403, "forbidden")
    refused(
        http.put(path, json=answer), 412, "precondition_failed", '`If-Match` is missing; the current version is `"1"`'
    )
    answered = http.put(path, json=answer, headers={"If-Match": '"1"'})
    assert (ok(answered)["state"], answered.headers["etag"]) == ("accepted", '"2"')
    refused(http.put(path, json=answer, headers={"If-Match": '"1"'}), 412, "precondition_failed", '"2"')
    assert ok(dora.get(path))["answer"] == answer["answer"]
    assert ok(dora.get("/reports", params={"state": "accepted"}))["items"][0]["id"] == made["id"]


def test_a_decision_that_is_not_there_cannot_be_reported(dora):
    refused(dora.post("/reports", json={"decision_id": "none"}), 404, "not_found", "`none`")


def test_a_session_is_listed_inspected_and_reset(http, dora, eve, session):
    strict(dora, session)
    read = session | {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}
    assert ok(dora.post("/pre-tool-use", json=read))["decision"] == "allow"
    assert ok(dora.post("/pre-tool-use", json=read))["decision"] == "block"
    recorded(dora, session, 2)
    (seen,) = [s for s in ok(dora.get("/sessions"))["items"] if s["session_id"] == session["session_id"]]
    assert (seen["user"], seen["calls"], seen["blocked"]) == ("dora", 2, 1)
    path = f"/sessions/{session['session_id']}"
    full = ok(http.get(path))
    assert full["past"]["calls"] == {"main": ["Read", "Read"]}
    assert full["mode"]["scope"] == "session"
    for found in (eve.get(path), eve.post(f"{path}/reset"), http.get("/sessions/none")):
        refused(found, 404, "not_found")
    ok(http.post(f"{path}/reset", params={"reason": "stuck"}), 204)
    assert ok(dora.get(path))["past"]["calls"] == {}
    assert ok(dora.post("/pre-tool-use", json=read))["decision"] == "allow"
    (entry,) = ok(http.get("/audit", params={"object": f"dora/{session['session_id']}"}))["items"]
    assert (entry["action"], entry["reason"], entry["before"]) == ("session.reset", "stuck", {"main": ["Read", "Read"]})


def test_retention_is_set_from_the_version_that_one_has_read(http, dora):
    now = http.get("/retention")
    kept = {"decisions_days": 30, "reports_days": 60, "audit_days": 400}
    refused(http.put("/retention", json=kept), 412, "precondition_failed", now.headers["etag"])
    set_ = http.put("/retention", json=kept | {"reason": "law"}, headers={"If-Match": now.headers["etag"]})
    assert ok(set_) == kept | {"jobs_days": 30}
    assert http.get("/retention").headers["etag"] == set_.headers["etag"] != now.headers["etag"]
    refused(http.put("/retention", json=kept, headers={"If-Match": now.headers["etag"]}), 412, "precondition_failed")
    refused(http.put("/retention", json=kept | {"audit_days": 364}), 422, "validation", "`audit_days`")
    refused(dora.get("/retention"), 403, "forbidden")
    refused(dora.put("/retention", json=kept), 403, "forbidden")
    assert ok(http.get("/audit", params={"kind": "retention"}))["items"][0]["reason"] == "law"


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
