"""What most tests over HTTP do: expect an answer or a refusal, make a session strict, edit, read what was recorded."""

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
