"""Claude Code's dialect: read its hook events, render answers that it honours.

A `null` in a known field, a wrong `hookEventName`, or a decision word that the client does not know makes it drop the
whole answer and run the tool; so nothing is sent that was not asked for.
"""

from typing import Any, get_args

from baton.clients.event import EventName, HookAnswer, HookEvent, clip, duration, text, tool_input_of

name = "claude-code"

_EVENTS: frozenset[str] = frozenset(get_args(EventName)) - {"other"}
_WITH_CONTEXT = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read any event of the client; one that Baton does not use gets the name `other`."""
    return read_as(name, payload, event)


def read_as(client: str, payload: dict[str, Any], event: str) -> HookEvent:
    """Read a payload of Claude Code's shape, for the client of that name."""
    native = text(payload, "hook_event_name", "hookEventName") or event
    return HookEvent(
        client=client,
        name=known_event(native),
        native_name=native,
        session_id=text(payload, "session_id", "sessionId"),
        agent_id=text(payload, "agent_id", "agentId"),
        agent_type=text(payload, "agent_type", "agentType"),
        cwd=text(payload, "cwd"),
        permission_mode=text(payload, "permission_mode", "permissionMode"),
        tool_name=text(payload, "tool_name", "toolName"),
        tool_input=tool_input_of(payload, "tool_input", "toolInput"),
        tool_use_id=text(payload, "tool_use_id", "toolUseId"),
        tool_response=payload.get("tool_response", payload.get("toolResponse")),
        source=text(payload, "source"),
        reason=text(payload, "reason"),
        prompt=text(payload, "prompt"),
        duration_ms=duration(payload, "duration_ms", "durationMs"),
    )


def known_event(native: str) -> EventName:
    """Return an event's name, `other` for one that Baton does not use."""
    return native if native in _EVENTS else "other"  # type: ignore[return-value]


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer. A rewrite carries no decision, so that Claude Code still asks the person where it would."""
    out: dict[str, Any] = {}
    if answer.system_message:
        out["systemMessage"] = answer.system_message
    if event == "PermissionRequest":
        if answer.effect == "deny":
            decision = {"behavior": "deny", "message": answer.reason}
            out["hookSpecificOutput"] = {"hookEventName": event, "decision": decision}
        return out
    if event != "PreToolUse" and answer.effect == "deny":
        out |= {"decision": "block", "reason": answer.reason}
        return out
    specific: dict[str, Any] = {}
    if event == "PreToolUse":
        if answer.effect != "none":
            specific |= {"permissionDecision": answer.effect, "permissionDecisionReason": answer.reason}
        if answer.updated_input is not None:
            specific["updatedInput"] = answer.updated_input
    if answer.context and event in _WITH_CONTEXT:
        specific["additionalContext"] = clip(answer.context)
    if specific:
        out["hookSpecificOutput"] = {"hookEventName": event, **specific}
    return out
