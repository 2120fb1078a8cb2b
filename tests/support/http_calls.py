"""Common steps of tests over HTTP: expect an answer or a refusal, make a session strict, edit, read records."""

from tests.support.server import until


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
    """Return a session's decisions, newest first, once there are so many."""
    query = {"session_id": session["session_id"]}
    return until(
        lambda: (page := client.get("/decisions", params=query).json()["items"]) and len(page) >= count and page
    )


def introduce(server, *, teams=(), projects=(), users=()):
    """Make names known, as an admin does; users by their first call, so that they are in no team of the directory."""
    with server.client() as admin:
        for name in teams:
            ok(admin.put(f"/teams/{name}", json={}))
        for name in projects:
            ok(admin.put("/projects", json={"name": name, "team": "default"}))
        for name in users:
            with server.agent(**{"Baton-User": name}) as agent:
                ok(agent.post("/pre-tool-use", json={"tool_name": "Bash", "tool_input": {"command": "ls"}}))
            until(lambda name=name: admin.get("/decisions", params={"user": name}).json().get("items"))
