"""Claude Code: its recorded payloads, and its answers."""

from baton.clients import claude_code
from baton.clients.event import HookAnswer
from tests.support.cases import every
from tests.support.recorded import ASK, CONTEXT, DENY, PRE, REWRITE, REWRITTEN, hook, recorded

RECORDED = recorded("claude_code")
SENT = [
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


@every("payload", RECORDED.values(), ids=RECORDED)
def test_every_recorded_payload_is_read(payload):
    event = claude_code.read(payload, "")
    assert event.native_name == payload["hook_event_name"]
    assert event.session_id == payload["session_id"]
    assert event.agent_id == payload.get("agent_id", "")
    assert event.tool_name == payload.get("tool_name", "")
    assert event.tool_input == payload.get("tool_input", {})


@every(("event", "answer", "sent"), [row[1:] for row in SENT], ids=[r[0] for r in SENT])
def test_claude_code_is_sent(event, answer, sent):
    assert claude_code.render(event, answer) == sent


def test_context_is_shorter_than_the_client_s_limit():
    sent = claude_code.render(PRE, HookAnswer(context="ü" * 9_000))
    assert 9_400 < len(sent["hookSpecificOutput"]["additionalContext"].encode()) <= 9_500
