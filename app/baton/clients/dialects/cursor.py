"""Cursor's dialect, by its documentation: its own events in `hooks.json`, and those of Claude Code's settings, which it runs too.

Answers are flat. No session of a sub-agent is known by a call, so its calls are held for the main agent's.
"""

from typing import Any

from baton.clients.dialects import claude_code
from baton.clients.event import EventName, HookAnswer, HookEvent, clip, text, tool_input_of

name = "cursor"
EVENTS: dict[str, EventName] = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "stop": "Stop",
}
TOOLS = {
    "Shell": "Bash",
    "Read": "Read",
    "Write": "Write",
    "Edit": "Edit",
    "StrReplace": "StrReplace",
    "Delete": "Delete",
    "Grep": "Grep",
    "Glob": "Glob",
    "LS": "LS",
    "SemanticSearch": "Grep",
    "Task": "Agent",
    "TodoWrite": "TodoWrite",
    "WebFetch": "WebFetch",
    "WebSearch": "WebSearch",
    "AskQuestion": "AskUserQuestion",
}
"""Its tools by the names that the engine knows; the same kind of tool, with Cursor's own arguments."""
_MCP = "MCP:"
_WITH_CONTEXT = {"SessionStart", "PreToolUse", "PostToolUse"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. The folder of a call is often empty; then it is the workspace's first."""
    native = text(payload, "hook_event_name") or event
    canonical = EVENTS.get(native) or claude_code.known_event(native)
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    is_agents_own = canonical in {"SubagentStart", "SubagentStop"}
    return HookEvent(
        client=name,
        name=canonical,
        native_name=native if canonical == "other" else canonical,
        session_id=text(payload, "parent_conversation_id", "conversation_id", "session_id"),
        agent_id=text(payload, "subagent_id") if is_agents_own else "",
        agent_type=text(payload, "subagent_type"),
        cwd=text(payload, "cwd") or first,
        tool_name=_tool(text(payload, "tool_name")),
        tool_input=tool_input_of(payload, "tool_input"),
        tool_use_id=text(payload, "tool_use_id"),
        tool_response=payload.get("tool_output"),
        source="startup" if canonical == "SessionStart" else "",
        reason=text(payload, "reason"),
        prompt=text(payload, "prompt"),
    )


def posts(payload: dict[str, Any]) -> bool:
    """Return whether a payload that came as Claude Code's is Cursor's, which names its version or its generation in each."""
    return "cursor_version" in payload or ("conversation_id" in payload and "generation_id" in payload)


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer, flat. A question before a call is not asked, by the documentation: it is refused.

    The reason of a refusal stands in both messages: which one reaches the model differs between versions.
    """
    if answer.effect != "none":
        if event in {"PreToolUse", "SubagentStart", ""}:
            return {"permission": "deny", "user_message": answer.reason, "agent_message": answer.reason}
        return {"continue": False, "user_message": answer.reason} if event == "UserPromptSubmit" else {}
    out: dict[str, Any] = {}
    if event == "PreToolUse" and answer.updated_input is not None:
        out |= {"permission": "allow", "updated_input": answer.updated_input}
    if event in _WITH_CONTEXT and (context := clip(answer.context_for_both)):
        out["additional_context"] = context
    return out


class InClaudeSettings:
    """Cursor where it runs the hooks of Claude Code's settings: it takes Claude's answers, and its own beside them."""

    name = name

    @staticmethod
    def read(payload: dict[str, Any], event: str) -> HookEvent:
        """Read an event."""
        return read(payload, event)

    @staticmethod
    def render(event: str, answer: HookAnswer) -> dict[str, Any]:
        """Render an answer in both forms: which one is heard there is not documented of each event."""
        return claude_code.render(event, answer) | render(event, answer)


def _tool(native: str) -> str:
    if native.startswith(_MCP):
        server, _, tool = native.removeprefix(_MCP).rpartition(":")
        return f"mcp__{server or name}__{tool}"
    return TOOLS.get(native, native)
