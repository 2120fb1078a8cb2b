"""Every client: odd payloads cause no error, and answers contain only words known to the client."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.clients.event import HookAnswer
from baton.clients.registry import CLIENTS, SPECS
from baton.local.hook.clients import place_of
from baton.shared import agent_process
from tests.support.cases import every
from tests.support.shipped import shipped

PRE = "PreToolUse"


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
    "claude-code": ("hookSpecificOutput systemMessage decision reason", "deny ask"),
    "codex": ("hookSpecificOutput systemMessage decision reason", "deny allow"),
    "copilot-cli": (
        "permissionDecision permissionDecisionReason modifiedArgs additionalContext decision reason", "deny ask"
    ),
    "cursor": ("permission user_message agent_message updated_input additional_context continue", "deny"),
    "gemini": ("hookSpecificOutput systemMessage decision reason", "deny"),
    "opencode": ("hookSpecificOutput systemMessage decision reason", "deny"),
    "qwen": ("hookSpecificOutput decision reason", "deny ask"),
}  # fmt: skip
"""The keys and the effects of each client's answers."""


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
    keys, effects = KNOWN[client]
    assert set(sent) <= set(keys.split())
    refused = "deny" if client == "gemini" else "block"
    assert sent.get("decision", refused) == refused
    specific = sent.get("hookSpecificOutput", {})
    assert not specific or specific.get("hookEventName") == (None if client == "gemini" else event)
    decided = {**sent, **specific}
    assert decided.get("permissionDecision", "deny") in effects.split()
    if specific.get("permissionDecision") == "deny":
        assert client != "codex" or set(sent) == {"hookSpecificOutput"}


ODD = [
    {"hook_event_name": None, "session_id": None, "tool_input": None},
    {"hook_event_name": 5, "tool_name": ["x"], "tool_input": "ls", "transcript_path": None},
    {"hookEventName": PRE, "sessionId": "s", "toolName": "Bash", "toolInput": {"command": "ls"}},
    {},
]


@every("client", sorted(CLIENTS))
@every("payload", ODD)
def test_odd_payloads_are_read_without_an_error(client, payload):
    event = CLIENTS[client].read(payload, "")
    assert isinstance(event.tool_input, dict)
    assert event.session_id in {"", "s"}


@every("client", sorted(CLIENTS))
def test_an_unknown_event_has_no_meaning(client):
    assert CLIENTS[client].read({"hook_event_name": "TeammateIdle"}, "").name == "other"


@every("client", CLIENTS)
def test_every_client_is_known_by_its_endpoint_program_and_variables(client):
    assert f"*/hooks/{client}" in shipped().config.lists["hook_api"]
    assert (program := SPECS[client].program or client) in shipped().config.lists["clients"]
    assert agent_process._CLIENTS.fullmatch(program)
    assert (marks := place_of(client).marks)
    assert all(agent_process._OF_AGENTS.fullmatch(one.rstrip("=")) for one in marks)
