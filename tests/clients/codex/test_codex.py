"""Codex CLI: its recorded payloads, and its answers."""

from baton.clients import codex
from baton.clients.event import HookAnswer
from tests.support.cases import every
from tests.support.recorded import ASK, CONTEXT, DENY, PRE, REWRITE, REWRITTEN, hook, recorded

RECORDED = recorded("codex")
SENT = [
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


@every("payload", RECORDED.values(), ids=RECORDED)
def test_every_recorded_payload_is_read(payload):
    event = codex.read(payload, "")
    assert event.native_name == payload["hook_event_name"]
    assert event.session_id == payload["session_id"]
    assert event.agent_id == payload.get("agent_id", "")
    assert event.tool_name == payload.get("tool_name", "")
    assert event.tool_input == payload.get("tool_input", {})


@every(("event", "answer", "sent"), [row[1:] for row in SENT], ids=[r[0] for r in SENT])
def test_codex_is_sent(event, answer, sent):
    assert codex.render(event, answer) == sent
