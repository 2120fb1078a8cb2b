"""A client configured to block without a decision: each failure, in each client's dialect."""

import json

import pytest

from tests.support.cases import every

BLOCK = {"Baton-On-Failure": "block"}
CLIENTS = ["claude-code", "codex"]


def ask(http, client, body, event="", **headers):
    response = http.post(f"/hooks/{client}", params={"event": event}, content=body, headers=BLOCK | headers)
    assert response.status_code == 200
    return response.json()


def refusal(answer, event):
    specific = answer["hookSpecificOutput"]
    assert specific["hookEventName"] == event
    if event == "PermissionRequest":
        assert specific["decision"]["behavior"] == "deny"
        return specific["decision"]["message"]
    assert specific["permissionDecision"] == "deny"
    return specific["permissionDecisionReason"]


@every("client", CLIENTS)
@every("event", ["PreToolUse", "PermissionRequest"])
def test_an_unreadable_call_is_refused(http, client, event):
    assert "BATON_ON_FAILURE=block" in refusal(ask(http, client, b"{", event), event)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_call_with_an_unknown_token_is_refused(guarded, client, event):
    body = json.dumps({"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "ls"}})
    with guarded.client(Authorization="Bearer baton_nobody") as http:
        assert "baton doctor" in refusal(ask(http, client, body), event)


@every("client", CLIENTS)
@every("event", ["PostToolUse", "Stop", "SessionEnd", "Notification"])
def test_an_event_after_the_call_is_never_refused(http, client, event):
    assert ask(http, client, b"{", event) == {}


@every("client", CLIENTS)
@every("event", ["PreToolUse", "PermissionRequest"])
def test_by_default_an_unreadable_call_is_asked_about_or_reported(http, client, event):
    answer = ask(http, client, b"{", event, **{"Baton-On-Failure": "allow"})
    if event == "PermissionRequest":  # the person is asked anyway
        assert answer == {}
    elif client == "codex":  # it cannot ask
        assert "did not check this call" in answer["systemMessage"]
        assert len(answer) == 1
    else:
        assert answer["hookSpecificOutput"]["permissionDecision"] == "ask"
