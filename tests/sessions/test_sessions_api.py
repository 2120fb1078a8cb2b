"""`/sessions` over real HTTP."""

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


def recorded(client, session, count=1):
    query = {"session_id": session["session_id"]}
    return until(
        lambda: (page := client.get("/decisions", params=query).json()["items"]) and len(page) >= count and page
    )


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
