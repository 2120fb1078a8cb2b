"""Gemini CLI's dialect: its events have names of their own, its answers are flat but for what reaches the model.

It names no sub-agent. What its events tell about them is in `HookEvent.sign`; `sessions/subagent_brackets.py` adds it up.
"""

from typing import Any

from baton.clients.dialects import claude_code
from baton.clients.event import AgentSign, EventName, HookAnswer, HookEvent, at_ms, clip, text, tool_input_of

name = "gemini"
_EVENTS: dict[str, EventName] = {
    "SessionStart": "SessionStart",
    "SessionEnd": "SessionEnd",
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
}
_TOOLS = {
    "run_shell_command": "Bash",
    "replace": "Edit",
    "write_file": "Write",
    "read_file": "Read",
    "read_many_files": "Read",
    "grep_search": "Grep",
    "search_file_content": "Grep",
    "glob": "Glob",
    "list_directory": "LS",
    "invoke_agent": "Agent",
    "web_fetch": "WebFetch",
    "google_web_search": "WebSearch",
    "write_todos": "TodoWrite",
    "activate_skill": "Skill",
    "ask_user": "AskUserQuestion",
    "enter_plan_mode": "EnterPlanMode",
    "exit_plan_mode": "ExitPlanMode",
    "read_background_output": "BashOutput",
    "list_background_processes": "BashOutput",
}
"""Its tools by the names that the engine knows; the same kind of tool, with Gemini's own arguments."""
_WITH_CONTEXT = {"SessionStart", "UserPromptSubmit", "PostToolUse"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. The shim names it in Baton's words, the payload in Gemini's."""
    native = text(payload, "hook_event_name", "hookEventName") or event
    canonical = _EVENTS.get(native) or claude_code.known_event(native)
    tool_input = tool_input_of(payload, "tool_input", "toolInput")
    return HookEvent(
        client=name,
        name=canonical,
        native_name=native if canonical == "other" else canonical,
        session_id=text(payload, "session_id", "sessionId"),
        cwd=text(payload, "cwd"),
        tool_name=_tool(payload),
        tool_input=tool_input,
        tool_response=payload.get("tool_response"),
        source=text(payload, "source"),
        reason=text(payload, "reason"),
        prompt=text(payload, "prompt"),
        sign=_sign(payload, native if native == "PreCompress" else canonical, text(tool_input, "agent_name")),
    )


def _tool(payload: dict[str, Any]) -> str:
    mcp = payload.get("mcp_context")
    if isinstance(mcp, dict) and (server := text(mcp, "server_name")) and (tool := text(mcp, "tool_name")):
        return f"mcp__{server}__{tool}"
    tool = text(payload, "tool_name", "toolName")
    return _TOOLS.get(tool, tool)


def _sign(payload: dict[str, Any], event: str, agent: str) -> AgentSign | None:
    at = at_ms(payload)
    starts = _tool(payload) == "Agent"
    match event:
        case "PreToolUse":
            return AgentSign(kind="start" if starts else "call", at_ms=at, agent=agent)
        case "PostToolUse":
            return AgentSign(kind="end", at_ms=at, agent=agent) if starts else None
        case "PreCompress":  # ahead of every request to a model, but for a sub-agent's first
            return AgentSign(kind="turn", at_ms=at)
        case "UserPromptSubmit" | "Stop" | "SessionStart" | "SessionEnd":
            return AgentSign(kind="none", at_ms=at)
    return None


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer. A question would end a run without a terminal in silence, so it is a refusal.

    A rewrite is the whole input: Gemini replaces, where its documentation says that it merges.
    """
    event = _EVENTS.get(event) or event
    out: dict[str, Any] = {"systemMessage": answer.system_message} if answer.system_message else {}
    if answer.effect != "none":
        return out if event == "PermissionRequest" else out | {"decision": "deny", "reason": answer.reason}
    specific: dict[str, Any] = {}
    if event == "PreToolUse" and answer.updated_input is not None:
        specific["tool_input"] = answer.updated_input
    if answer.context and event in _WITH_CONTEXT:
        specific["additionalContext"] = clip(answer.context)
    return out | {"hookSpecificOutput": specific} if specific else out
