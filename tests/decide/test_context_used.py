"""The typed events measure, like hooks, what a session used of what it was told at its start."""

from tests.support.http_calls import ok
from tests.support.server import until

ADVICE = "Wrap every fetch in retry_with_jitter"


def usage(http):
    found = {one["source"]: one for one in ok(http.get("/analytics/context"))}
    return found.get("patterns", {"measured": 0, "used": 0})


def test_what_a_finished_call_names_counts_as_used_when_the_session_ends(http, session):
    pattern = ok(http.post("/patterns", json={"signature": ADVICE, "confidence": 0.95}), 201)
    path = f"/patterns/{pattern['id']}"
    ok(http.post(f"{path}/approve", json={}, headers={"If-Match": '"1"'}))
    try:
        before = usage(http)
        start = session | {"hook_event_name": "SessionStart", "source": "startup"}
        told = http.post("/hooks/claude-code", json=start).text
        assert "retry_with_jitter" in told
        edit = {"tool_name": "Write", "tool_input": {"file_path": "a.py", "content": "retry_with_jitter(fetch)"}}
        for _ in range(2):  # of a server's first one Redis may not have the script yet, and the end overtake it
            ok(http.post("/post-tool-use", json=session | edit))
        ok(http.post("/session-end", json=session))
        until(lambda: usage(http)["used"] > before["used"])
    finally:
        version = ok(http.get(path))["version"]
        ok(http.post(f"{path}/retire", json={}, headers={"If-Match": f'"{version}"'}))
