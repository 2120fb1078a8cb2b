"""Cursor's dialect, by its documentation: its own events in `hooks.json`, and those of Claude Code's settings.

Answers are flat. Calls do not identify sub-agents, so they count as the main agent's.
"""

from typing import Any

from baton.clients import claude_code, spec
from baton.clients.event import HookAnswer, HookEvent, clip, event_name, text, tool_input_of

name = "cursor"
_TOOLS = {
    "Shell": "Bash", "Read": "Read", "Write": "Write", "Edit": "Edit", "StrReplace": "StrReplace", "Delete": "Delete",
    "Grep": "Grep", "Glob": "Glob", "LS": "LS", "SemanticSearch": "Grep", "Task": "Agent", "TodoWrite": "TodoWrite",
    "WebFetch": "WebFetch", "WebSearch": "WebSearch", "AskQuestion": "AskUserQuestion",
}  # fmt: skip
SPEC = spec.Spec(
    name=name,
    title="Cursor",
    program="cursor-agent",
    marks="CURSOR_(AGENT|CLI)",
    subagents="no: a sub-agent's calls count as a main agent's",
    model="no: left alone",
    events=(
        spec.ClientEvent("sessionStart", "SessionStart", spec.START, "context"),
        spec.ClientEvent("beforeSubmitPrompt", "UserPromptSubmit", spec.PROMPT, "block"),
        spec.ClientEvent("preToolUse", "PreToolUse", spec.CALL, "block ask rewrite context"),
        spec.ClientEvent("postToolUse", "PostToolUse", spec.RESULT, "context"),
        spec.ClientEvent("postToolUseFailure", "PostToolUseFailure", spec.FAILURE),
        spec.ClientEvent("subagentStart", "SubagentStart", spec.SUBAGENT, "block"),
        spec.ClientEvent("subagentStop", "SubagentStop", spec.SUBAGENT_END),
        spec.ClientEvent("stop", "Stop", spec.TURN_END),
        spec.ClientEvent("sessionEnd", "SessionEnd", spec.END),
        spec.ClientEvent("beforeShellExecution", "", spec.EARLIER),
        spec.ClientEvent("beforeMCPExecution", "", spec.EARLIER),
        spec.ClientEvent("beforeReadFile", "", spec.EARLIER),
        spec.ClientEvent("afterShellExecution", "", "not used: postToolUse reports the same"),
        spec.ClientEvent("afterMCPExecution", "", "not used: postToolUse reports the same"),
        spec.ClientEvent("afterFileEdit", "", "not used: postToolUse reports the same"),
        spec.ClientEvent("afterAgentResponse", "", spec.TALK),
        spec.ClientEvent("afterAgentThought", "", spec.TALK),
        spec.ClientEvent("preCompact", "", "not used: nothing is decided by it"),
    ),
    notes=(
        "It was not driven: all is by its documentation, and by what others have recorded of version 3.9.",
        "The orchestrator mode holds its sub-agents as well: guardrails are what it is good for there.",
        (
            "It also runs the hooks of Claude Code's settings; Baton recognises it by its payload. With both, Baton"
            " is asked twice."
        ),
        "Messages to the person reach the model instead: its hooks show no messages.",
    ),
    tools=_TOOLS,
    task_tool="Task tool",
    task_call=("Task", {"description": "{name}", "prompt": "{prompt}", "subagent_type": "{agent}"}),
    agents={"Explore": "explore", "general-purpose": "generalPurpose"},
    no_question="Cursor cannot ask here: the person may run it outside the agent.",
    takes_model=False,
    project_file=".cursor/hooks.json",
    form="flat",
    windows_shell="powershell",
)
_MCP = "MCP:"
_WITH_CONTEXT = {"SessionStart", "PreToolUse", "PostToolUse"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. An empty folder means the first one of the workspace."""
    native = text(payload, "hook_event_name") or event
    canonical = event_name(SPEC, native)
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    tool = _tool(text(payload, "tool_name"))
    is_agents_own = canonical in {"SubagentStart", "SubagentStop"}
    return HookEvent(
        client=name,
        name=canonical,
        native_name=native if canonical == "other" else canonical,
        session_id=text(payload, "parent_conversation_id", "conversation_id", "session_id"),
        agent_id=text(payload, "subagent_id") if is_agents_own else "",
        agent_type=text(payload, "subagent_type"),
        cwd=text(payload, "cwd") or first,
        tool_name=tool,
        tool_input=tool_input_of(tool, payload, "tool_input"),
        tool_use_id=text(payload, "tool_use_id"),
        tool_response=payload.get("tool_output"),
        source="startup" if canonical == "SessionStart" else "",
        reason=text(payload, "reason"),
        prompt=text(payload, "prompt"),
    )


def posts(payload: dict[str, Any]) -> bool:
    """Return whether a Claude Code payload comes from Cursor: it names its version, or conversation and generation."""
    return "cursor_version" in payload or ("conversation_id" in payload and "generation_id" in payload)


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render a flat answer. By its documentation it cannot ask before a call, so ask becomes deny.

    Both messages have the reason: versions differ in which one reaches the model.
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


class CursorInClaudeSettings:
    """Cursor with the hooks of Claude Code's settings: it accepts Claude's answers and its own."""

    name, SPEC, read = name, SPEC, staticmethod(read)

    @staticmethod
    def render(event: str, answer: HookAnswer) -> dict[str, Any]:
        """Render an answer in both forms: the documentation does not say which one counts."""
        return claude_code.render(event, answer) | render(event, answer)


def _tool(native: str) -> str:
    if native.startswith(_MCP):
        server, _, tool = native.removeprefix(_MCP).rpartition(":")
        return f"mcp__{server or name}__{tool}"
    return SPEC.tools.get(native, native)
