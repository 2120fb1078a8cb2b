"""For any request: an answer or a clear refusal, never a 500, never a broken hook answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.server import served

pytestmark = pytest.mark.slow("sends thousands of requests")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of these tests' own: what they post switches modes on, and the names are often others' too."""
    with served(tmp_path_factory.mktemp("fuzz") / "home") as running:
        yield running


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ["session_id", "sessionId", "tool_name", "toolName", "tool_input", "toolInput", "tool_use_id", "agent_id", "cwd",
     "hook_event_name", "project", "source", "work_items", "level", "history", "permission_mode", "tool_response"]
)  # fmt: skip
EVENTS = st.sampled_from(["PreToolUse", "PostToolUse", "SessionStart", "SessionEnd", "PermissionRequest", "Stop"])
TOOLS = st.sampled_from(["Bash", "Edit", "Read", "Task", "Agent", "Write", "apply_patch", "Monitor", "mcp__a__b"])
INPUTS = st.dictionaries(
    st.sampled_from(["command", "file_path", "subagent_type", "prompt", "description", "model", "run_in_background"]),
    JSON,
)
PAYLOADS = st.dictionaries(NAMES, JSON, max_size=8) | st.fixed_dictionaries(
    {"session_id": st.text(max_size=40), "hook_event_name": EVENTS, "tool_name": TOOLS, "tool_input": INPUTS},
    optional={"agent_id": JSON, "cwd": JSON, "tool_use_id": JSON, "tool_response": JSON},
)
BODIES = PAYLOADS.map(lambda payload: json.dumps(payload).encode()) | st.binary(max_size=200)
TYPED = ["/pre-tool-use", "/policies/evaluate", "/session-start", "/session-end", "/post-tool-use"]


@pytest.mark.parametrize("path", TYPED)
@examples(40)
@given(body=BODIES)
def test_typed_endpoints_answer_or_name_the_field(http, path, body):
    response = http.post(path, content=body)
    assert response.status_code in {200, 400, 422}, response.text
    if response.status_code != 200:
        problem = response.json()
        assert problem["detail"]
        assert problem["code"] in {"bad_json", "validation"}
    elif path == "/pre-tool-use":
        assert response.json()["decision"] in {"allow", "ask", "block"}


TEXTS = ("session_id", "tool_use_id", "agent_id", "agent_type", "cwd", "project", "permission_mode", "reason", "client")
HALF = json.dumps(
    dict.fromkeys(TEXTS, "a\ud800")
    | {"prompt": "\udc00", "tool_name": "TOOL", "tool_response": {"agentId": "\ud800"}}
    | {"tool_input": {"file_path": "\ud800", "command": "cat \ud800", "shell_id": "\ud800", "run_in_background": True}}
)


@pytest.mark.parametrize("path", [*TYPED, "/route"])
@pytest.mark.parametrize("tool", ["Bash", "Write", "Agent", "KillShell", "x\\ud800"])
def test_half_a_surrogate_pair_is_no_error_in_any_text(http, path, tool):
    response = http.post(path, content=HALF.replace("TOOL", tool).encode())
    assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    "event", ["PreToolUse", "PostToolUse", "SessionStart", "SessionEnd", "UserPromptSubmit", "SubagentStop"]
)
def test_half_a_surrogate_pair_keeps_no_event_from_being_served(http, event):
    response = http.post(f"/hooks/claude-code?event={event}", content=HALF.replace("TOOL", "Write").encode())
    assert "baton-degraded" not in response.headers


@pytest.mark.parametrize("client", ["claude-code", "codex"])
@given(body=BODIES, event=EVENTS, failure=st.sampled_from(["allow", "block"]))
def test_native_endpoints_always_answer_in_the_dialect(http, client, body, event, failure):
    response = http.post(
        f"/hooks/{client}", params={"event": event}, content=body, headers={"Baton-On-Failure": failure}
    )
    assert response.status_code == 200
    answer = response.json()
    assert set(answer) <= {"hookSpecificOutput", "systemMessage", "decision", "reason"}
    assert None not in answer.values()


@given(body=st.dictionaries(st.sampled_from(["scope", "id", "user", "project", "enabled", "level", "reason"]), JSON))
def test_the_mode_is_set_or_the_field_is_named(http, body):
    body = {**body, "scope": "session"} if body.get("scope") != "session" else body
    response = http.put("/mode", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert response.status_code in {200, 422}, response.text


def test_a_body_above_the_limit_gets_the_failure_answer_and_is_counted(http):
    before = http.get("/status").json()["hook_failures"].get("claude-code block body_too_large", 0)
    body = b'{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"content":"' + b"x" * (65 << 20) + b'"}}'
    headers = {"Baton-On-Failure": "block"}
    answer = http.post("/hooks/claude-code?event=PreToolUse", content=body, headers=headers).json()
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "32 MiB" in answer["hookSpecificOutput"]["permissionDecisionReason"]
    assert http.get("/status").json()["hook_failures"]["claude-code block body_too_large"] == before + 1


def test_a_body_that_is_cut_off_is_nobody_s_error(server, http):
    import socket  # noqa: PLC0415

    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /pre-tool-use HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\n{")
    assert http.get("/healthz").status_code == 200
