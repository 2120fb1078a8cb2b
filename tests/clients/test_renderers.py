"""What each client is sent, against what it honours (measured on the real clients)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.clients.dialects import claude_code, codex
from baton.clients.event import HookAnswer
from baton.clients.registry import CLIENTS

FIXTURES = Path(__file__).parents[1] / "fixtures" / "clients"
RECORDED = sorted(FIXTURES.rglob("*.json"))
REWRITTEN = {"subagent_type": "explore", "prompt": "p", "description": "d", "model": "haiku"}
DENY = HookAnswer(effect="deny", reason="no")
ASK = HookAnswer(effect="ask", reason="sure?")
REWRITE = HookAnswer(updated_input=REWRITTEN)
CONTEXT = HookAnswer(context="delegate")
PRE = "PreToolUse"


def hook(event, **fields):
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


CLAUDE_CODE = [
    ("no opinion is an empty object", PRE, HookAnswer(), {}),
    ("deny", PRE, DENY, hook(PRE, permissionDecision="deny", permissionDecisionReason="no")),
    ("ask", PRE, ASK, hook(PRE, permissionDecision="ask", permissionDecisionReason="sure?")),
    ("a rewrite has no decision, so the person's prompt stays", PRE, REWRITE, hook(PRE, updatedInput=REWRITTEN)),
    ("context", PRE, CONTEXT, hook(PRE, additionalContext="delegate")),
    ("context at session start", "SessionStart", CONTEXT, hook("SessionStart", additionalContext="delegate")),
    ("a word to the person", "SessionStart", HookAnswer(system_message="off"), {"systemMessage": "off"}),
    ("an event that takes no context gets none", "SessionEnd", CONTEXT, {}),
    ("a permission dialog denied", "PermissionRequest", DENY,
     hook("PermissionRequest", decision={"behavior": "deny", "message": "no"})),
    ("a permission dialog left to the person", "PermissionRequest", ASK, {}),
    ("a refusal without an event's name takes the form that works for all", "", DENY, {"decision": "block", "reason": "no"}),
]  # fmt: skip
CODEX = [
    ("no opinion is an empty object", PRE, HookAnswer(), {}),
    ("deny", PRE, DENY, hook(PRE, permissionDecision="deny", permissionDecisionReason="no")),
    ("there is no ask, so it denies with the reason", PRE, ASK,
     hook(PRE, permissionDecision="deny", permissionDecisionReason="sure?")),
    ("a deny always has a reason", PRE, HookAnswer(effect="deny"),
     hook(PRE, permissionDecision="deny", permissionDecisionReason="refused by Baton")),
    ("a rewrite needs allow beside it", PRE, REWRITE, hook(PRE, permissionDecision="allow", updatedInput=REWRITTEN)),
    ("nothing stands beside a deny", PRE, HookAnswer(effect="deny", reason="no", context="c", system_message="s"),
     hook(PRE, permissionDecision="deny", permissionDecisionReason="no")),
    ("context", PRE, CONTEXT, hook(PRE, additionalContext="delegate")),
    ("context at session start", "SessionStart", CONTEXT, hook("SessionStart", additionalContext="delegate")),
]  # fmt: skip


@pytest.mark.parametrize(("event", "answer", "sent"), [row[1:] for row in CLAUDE_CODE], ids=[r[0] for r in CLAUDE_CODE])
def test_claude_code_is_sent(event, answer, sent):
    assert claude_code.render(event, answer) == sent


@pytest.mark.parametrize(("event", "answer", "sent"), [row[1:] for row in CODEX], ids=[r[0] for r in CODEX])
def test_codex_is_sent(event, answer, sent):
    assert codex.render(event, answer) == sent


ANSWERS = st.builds(
    HookAnswer,
    effect=st.sampled_from(["none", "deny", "ask"]),
    reason=st.text(),
    updated_input=st.none() | st.dictionaries(st.text(), st.integers()),
    context=st.text(),
    system_message=st.text(),
)
EVENTS = st.sampled_from([PRE, "PostToolUse", "SessionStart", "Stop", "PermissionRequest", "Notification", ""])
KNOWN = {
    "claude-code": {"hookSpecificOutput", "systemMessage", "decision", "reason"},
    "codex": {"hookSpecificOutput", "systemMessage", "decision", "reason"},
    "copilot-cli": {
        "permissionDecision",
        "permissionDecisionReason",
        "modifiedArgs",
        "additionalContext",
        "decision",
        "reason",
    },
    "continue": {"hookSpecificOutput", "systemMessage", "decision", "reason"},
    "cursor": {"permission", "user_message", "agent_message", "updated_input", "additional_context", "continue"},
    "gemini": {"hookSpecificOutput", "systemMessage", "decision", "reason"},
    "opencode": {"hookSpecificOutput", "systemMessage", "decision", "reason"},
    "qwen": {"hookSpecificOutput", "decision", "reason"},
}
WORDS = {
    "claude-code": {"deny", "ask"},
    "codex": {"deny", "allow"},
    "copilot-cli": {"deny", "ask"},
    "continue": {"deny", "ask"},
    "cursor": {"deny"},
    "gemini": {"deny"},
    "opencode": {"deny"},
    "qwen": {"deny", "ask"},
}


def without_input(sent):
    """A tool's input is its client's own, and may hold anything."""
    return {key: value for key, value in sent.items() if key not in {"updatedInput", "modifiedArgs", "tool_input"}}


def has_none(value):
    if isinstance(value, dict):
        return any(map(has_none, value.values()))
    return value is None or (isinstance(value, list) and any(map(has_none, value)))


@pytest.mark.parametrize("client", sorted(CLIENTS))
@given(event=EVENTS, answer=ANSWERS)
def test_no_client_is_ever_sent_a_null_an_unknown_key_or_an_unknown_word(client, event, answer):
    sent = CLIENTS[client].render(event, answer)
    assert not has_none(
        {**without_input(sent), "hookSpecificOutput": without_input(sent.get("hookSpecificOutput", {}))}
    )
    assert set(sent) <= KNOWN[client]
    refused = "deny" if client == "gemini" else "block"
    assert sent.get("decision", refused) == refused
    specific = sent.get("hookSpecificOutput", {})
    assert not specific or specific.get("hookEventName") == (None if client == "gemini" else event)
    decided = {**sent, **specific}
    assert decided.get("permissionDecision", "deny") in WORDS[client]
    if specific.get("permissionDecision") == "deny":
        assert client != "codex" or set(sent) == {"hookSpecificOutput"}


def test_context_is_kept_below_what_becomes_a_file_pointer():
    sent = claude_code.render(PRE, HookAnswer(context="ü" * 9_000))
    assert 9_400 < len(sent["hookSpecificOutput"]["additionalContext"].encode()) <= 9_500


def recorded_events(path):
    found = json.loads(path.read_text())
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recorded_payload_is_read(path):
    client = CLIENTS[path.parent.name]
    for payload in recorded_events(path):
        event = client.read(payload, "")
        assert event.native_name == payload["hook_event_name"]
        assert event.session_id == payload["session_id"]
        assert event.agent_id == payload.get("agent_id", "")
        assert event.tool_name == payload.get("tool_name", "")
        assert event.tool_input == payload.get("tool_input", {})


ODD = [
    {"hook_event_name": None, "session_id": None, "tool_input": None},
    {"hook_event_name": 5, "tool_name": ["x"], "tool_input": "ls", "transcript_path": None},
    {"hookEventName": PRE, "sessionId": "s", "toolName": "Bash", "toolInput": {"command": "ls"}},
    {},
]


@pytest.mark.parametrize("client", sorted(CLIENTS))
@pytest.mark.parametrize("payload", ODD)
def test_odd_payloads_are_read_without_an_error(client, payload):
    event = CLIENTS[client].read(payload, "")
    assert isinstance(event.tool_input, dict)
    assert event.session_id in {"", "s"}


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_an_unknown_event_has_no_meaning(client):
    assert CLIENTS[client].read({"hook_event_name": "TeammateIdle"}, "").name == "other"
