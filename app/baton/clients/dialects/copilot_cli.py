"""Copilot CLI's dialect: its own events, and those of a project's Claude settings, which it runs as well.

A nested answer to one of its own events is ignored, and the tool runs; so answers are flat here.
"""

from typing import Any

import msgspec

from baton.clients.dialects import claude_code
from baton.clients.event import EventName, HookAnswer, HookEvent, clip, text

name = "copilot-cli"
_EVENTS: dict[str, EventName] = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "userPromptSubmitted": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "permissionRequest": "PermissionRequest",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "agentStop": "Stop",
}
_TOOLS = {
    "bash": "Bash",
    "edit": "Edit",
    "create": "Write",
    "view": "Read",
    "grep": "Grep",
    "rg": "Grep",
    "glob": "Glob",
    "task": "Agent",
    "read_bash": "BashOutput",
    "list_bash": "BashOutput",
    "stop_bash": "KillShell",
    "skill": "Skill",
    "ask_user": "AskUserQuestion",
    "update_todo": "TodoWrite",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
}
"""Its tools by the names that the engine knows; the same kind of tool, with Copilot's own arguments."""
_SOURCES = {"new": "startup"}
_MODELS = {"haiku": "claude-haiku-4.5", "sonnet": "claude-sonnet-4.5", "opus": "claude-opus-4.5"}
"""Baton's models by their names at GitHub. There is no fable: such an agent keeps the model that Copilot picks."""
_WITH_CONTEXT = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}
_PATCH = "*** Begin Patch"


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. Its own payloads do not say which it is: the URL does.

    A sub-agent has a session of its own, named by its `agentId`; it belongs to the one that started it.
    """
    native = text(payload, "hook_event_name", "hookName") or event
    canonical = _EVENTS.get(native) or claude_code.known_event(native)
    agent, session = text(payload, "agentId", "agent_id"), text(payload, "sessionId", "session_id")
    if agent and session == agent:
        session = text(payload, "parentAgentId", "parent_agent_id") or session
    tool, source = text(payload, "toolName", "tool_name"), text(payload, "source")
    return HookEvent(
        client=name,
        name=canonical,
        native_name=native if canonical == "other" else canonical,
        session_id=session,
        agent_id=agent,
        agent_type=text(payload, "agentType", "agent_type", "agentName", "agent_name"),
        cwd=text(payload, "cwd"),
        tool_name=_TOOLS.get(tool, tool),
        tool_input=_input(payload),
        tool_response=payload.get("toolResult", payload.get("tool_result")),
        source=_SOURCES.get(source, source),
        reason=text(payload, "reason"),
        prompt=text(payload, "prompt"),
    )


def posts(payload: dict[str, Any]) -> bool:
    """Return whether a payload that came as Claude Code's is Copilot's: it has read a project's `.claude/settings.json`.

    Claude Code dates no event, and names the permission mode or the transcript in all of them.
    """
    if "timestamp" not in payload or "permission_mode" in payload or "prompt_id" in payload:
        return False
    return "/.copilot/" in text(payload, "transcript_path") or "transcript_path" not in payload


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer, flat. What a person is told goes to the model as well: the client shows it nowhere."""
    refused = answer.effect != "none"
    if event == "PermissionRequest":  # the tool's own event has been refused before
        return {}
    if refused and event not in {"PreToolUse", ""}:
        return {"decision": "block", "reason": answer.reason}
    if refused:
        return {"permissionDecision": answer.effect, "permissionDecisionReason": answer.reason}
    out: dict[str, Any] = {}
    if event == "PreToolUse" and answer.updated_input is not None:
        out["modifiedArgs"] = _arguments(answer.updated_input)
    if context := clip(answer.context_for_both) if event in _WITH_CONTEXT else "":
        out["additionalContext"] = context
    return out


class InClaudeSettings:
    """Copilot CLI where it runs the hooks of Claude Code's settings: it takes Claude's answers, but for some contexts."""

    name = name

    @staticmethod
    def read(payload: dict[str, Any], event: str) -> HookEvent:
        """Read an event."""
        return read(payload, event)

    @staticmethod
    def render(event: str, answer: HookAnswer) -> dict[str, Any]:
        """Render an answer in Claude Code's form, so that nothing depends on who was recognised."""
        if answer.updated_input is not None:
            answer = msgspec.structs.replace(answer, updated_input=_models(answer.updated_input))
        out = claude_code.render(event, answer)
        # There the nested context of these two is ignored, and a flat one by Claude Code.
        if (
            event in {"SessionStart", "UserPromptSubmit"}
            and answer.effect == "none"
            and (context := clip(answer.context_for_both))
        ):
            out["additionalContext"] = context
        return out


def _input(payload: dict[str, Any]) -> dict[str, Any]:
    for key in ("toolArgs", "tool_input", "toolInput"):
        value = payload.get(key)
        if isinstance(value, dict):
            return value
        if isinstance(value, str) and value:  # `apply_patch`, as GPT models call it, has a text and no arguments
            return {"command": value}
    return {}


def _arguments(tool_input: dict[str, Any]) -> dict[str, Any] | str:
    patch = tool_input.get("command")
    if len(tool_input) == 1 and isinstance(patch, str) and patch.startswith(_PATCH):
        return patch
    return _models(tool_input)


def _models(tool_input: dict[str, Any]) -> dict[str, Any]:
    model = tool_input.get("model")
    if "agent_type" not in tool_input or not isinstance(model, str):
        return tool_input
    others = {key: value for key, value in tool_input.items() if key != "model"}
    known = _MODELS.get(model, "" if model == "fable" else model)
    return others | {"model": known} if known else others
