"""Codex CLI's dialect. It differs from Claude Code's: an unknown key beside a deny makes Codex run the tool."""

from typing import Any

from baton.clients.dialects import claude_code
from baton.clients.event import HookAnswer, HookEvent, clip

name = "codex"
_NO_REASON = "refused by Baton"
_WITH_CONTEXT = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read any event of the client; its payloads have Claude Code's shape."""
    return claude_code.read_as(name, payload, event)


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer: there is no ask, so it becomes a deny; a rewrite needs allow beside it."""
    refused = answer.effect in {"deny", "ask"}
    reason = (answer.reason or _NO_REASON).removesuffix(".")  # Codex puts `. Command: …` behind it
    if event == "PermissionRequest":
        if not refused:
            return {}
        return {"hookSpecificOutput": {"hookEventName": event, "decision": {"behavior": "deny", "message": reason}}}
    if event != "PreToolUse" and refused:
        return {"decision": "block", "reason": reason}
    out: dict[str, Any] = {"systemMessage": answer.system_message} if answer.system_message and not refused else {}
    specific: dict[str, Any] = {}
    if refused:
        specific |= {"permissionDecision": "deny", "permissionDecisionReason": reason}
    elif event == "PreToolUse" and answer.updated_input is not None:
        specific |= {"permissionDecision": "allow", "updatedInput": answer.updated_input}
    if answer.context and not refused and event in _WITH_CONTEXT:
        specific["additionalContext"] = clip(answer.context)
    if specific:
        out["hookSpecificOutput"] = {"hookEventName": event, **specific}
    return out
