"""`/sessions` over real HTTP."""

from tests.support.http_calls import ok, recorded, refused, strict


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
    assert full["past"]["calls"] == {"main": ["Read"]}  # the refused one did not run
    assert full["mode"]["scope"] == "session"
    for found in (eve.get(path), eve.post(f"{path}/reset"), http.get("/sessions/none")):
        refused(found, 404, "not_found")
    ok(http.post(f"{path}/reset", params={"reason": "stuck"}), 204)
    assert ok(dora.get(path))["past"]["calls"] == {}
    assert ok(dora.post("/pre-tool-use", json=read))["decision"] == "allow"
    (entry,) = ok(http.get("/audit", params={"object": f"dora/{session['session_id']}"}))["items"]
    assert (entry["action"], entry["reason"], entry["before"]) == ("session.reset", "stuck", {"main": ["Read"]})
