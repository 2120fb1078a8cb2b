"""Copilot CLI's dialect: its own events and a project's Claude settings. It ignores nested answers."""

from typing import Any

import msgspec

from baton.clients import claude_code, spec
from baton.clients.event import HookAnswer, HookEvent, clip, event_name, text, tool_input_of
from baton.lib.text.patches import PATCH

name = "copilot-cli"
_TOOLS = {
    "bash": "Bash", "edit": "Edit", "create": "Write", "view": "Read", "grep": "Grep", "rg": "Grep", "glob": "Glob",
    "task": "Agent", "read_bash": "BashOutput", "list_bash": "BashOutput", "stop_bash": "KillShell", "skill": "Skill",
    "ask_user": "AskUserQuestion", "update_todo": "TodoWrite", "web_fetch": "WebFetch", "web_search": "WebSearch",
}  # fmt: skip
SPEC = spec.Spec(
    name=name,
    title="Copilot CLI",
    program="copilot",
    package="@github/copilot",
    marks="COPILOT_(CLI|AGENT_SESSION_ID)",
    version="1.0.102",
    subagents="yes, by `agentId`",
    model="yes, by GitHub's names of haiku, sonnet and opus; there is no fable",
    ask="asks; headless it refuses",
    events=(
        spec.ClientEvent("sessionStart", "SessionStart", spec.START, "context"),
        spec.ClientEvent("userPromptSubmitted", "UserPromptSubmit", spec.PROMPT, "block context"),
        spec.ClientEvent("preToolUse", "PreToolUse", spec.CALL, "block ask rewrite context"),
        spec.ClientEvent("postToolUse", "PostToolUse", spec.RESULT, "context"),
        spec.ClientEvent("postToolUseFailure", "PostToolUseFailure", spec.FAILURE),
        spec.ClientEvent("subagentStart", "SubagentStart", spec.SUBAGENT, "context"),
        spec.ClientEvent("subagentStop", "SubagentStop", spec.SUBAGENT_END),
        spec.ClientEvent("agentStop", "Stop", spec.TURN_END),
        spec.ClientEvent("sessionEnd", "SessionEnd", spec.END),
        spec.ClientEvent("permissionRequest", "", spec.EARLIER),
        spec.ClientEvent("notification", "", spec.TALK),
        spec.ClientEvent("errorOccurred", "", spec.TALK),
        spec.ClientEvent("preCompact", "", "not used: nothing is decided by it"),
    ),
    notes=(
        "It also runs the hooks of a trusted project's `.claude/settings.json`; Baton recognises it by its payload.",
        "It shows a person no message of a hook: Baton's messages reach the model instead.",
        "Which of the models an account may use was not proven with GitHub's own service.",
        "How it names the tools of MCP servers was not proven: rules for `mcp__*` may not know them.",
        (
            "Its skills run no shell lines (driven). Its calls have no id, so a call that another hook changed is not"
            " noticed."
        ),
        (
            "It skips http hooks to 127.0.0.1, and the call runs, unless it was started with"
            " `COPILOT_HOOK_ALLOW_LOCALHOST=1` (driven). With it, it posts calls and SessionStart, honours a refusal, and"
            " refuses a call while nobody listens. Baton cannot set this variable, so the shim asks."
        ),
    ),
    tools=_TOOLS,
    longest_wait=540,
    waiting="the call and its seconds, no hook; Esc twice has no effect until the hook has its answer",
    starts_at_once=True,
    agents_by_file=True,
    task_tool="task tool",
    task_call=("task", {"agent_type": "{agent}", "name": "{name}", "description": "{name}", "prompt": "{prompt}"}),
    agents={"Explore": "explore"},
    project_file=".github/hooks/baton.json",
    form="own file",
    windows_shell="powershell",
)
_SOURCES = {"new": "startup"}
_MODELS = {"haiku": "claude-haiku-4.5", "sonnet": "claude-sonnet-4.5", "opus": "claude-opus-4.5"}
"""GitHub's names of Baton's models. `fable` does not exist there: such an agent keeps Copilot's choice."""
_WITH_CONTEXT = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. Its payloads do not name it: the URL does.

    A sub-agent's session is its `agentId`; it belongs to the session that started it.
    """
    native = text(payload, "hook_event_name", "hookName") or event
    canonical = event_name(SPEC, native)
    agent, session = text(payload, "agentId", "agent_id"), text(payload, "sessionId", "session_id")
    if agent and session == agent:
        session = text(payload, "parentAgentId", "parent_agent_id") or session
    tool, source = text(payload, "toolName", "tool_name"), text(payload, "source")
    tool = SPEC.tools.get(tool, tool)
    return HookEvent(
        client=name,
        name=canonical,
        native_name=native if canonical == "other" else canonical,
        session_id=session,
        agent_id=agent,
        agent_type=text(payload, "agentType", "agent_type", "agentName", "agent_name"),
        cwd=text(payload, "cwd"),
        tool_name=tool,
        tool_input=tool_input_of(tool, payload, "toolArgs", "tool_input", "toolInput"),
        tool_response=payload.get("toolResult", payload.get("tool_result")),
        source=_SOURCES.get(source, source),
        reason=text(payload, "reason"),
        prompt=text(payload, "prompt"),
    )


def posts(payload: dict[str, Any]) -> bool:
    """Return whether a Claude Code payload comes from Copilot, through a project's `.claude/settings.json`.

    Claude Code's events have no timestamp, but a permission mode or a transcript.
    """
    if "timestamp" not in payload or "permission_mode" in payload or "prompt_id" in payload:
        return False
    return "/.copilot/" in text(payload, "transcript_path") or "transcript_path" not in payload


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render a flat answer. The person's message goes to the model as well: the client does not show it."""
    refused = answer.effect != "none"
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


class CopilotInClaudeSettings:
    """Copilot CLI with the hooks of Claude Code's settings: it accepts Claude's answers, except some contexts."""

    name, SPEC, read = name, SPEC, staticmethod(read)

    @staticmethod
    def render(event: str, answer: HookAnswer) -> dict[str, Any]:
        """Render an answer in Claude Code's form, independently of the recognition."""
        if answer.updated_input is not None:
            answer = msgspec.structs.replace(answer, updated_input=_models(answer.updated_input))
        out = claude_code.render(event, answer)
        # Copilot ignores the nested context of these two events, and Claude Code ignores a flat one.
        if (
            event in {"SessionStart", "UserPromptSubmit"}
            and answer.effect == "none"
            and (context := clip(answer.context_for_both))
        ):
            out["additionalContext"] = context
        return out


def _arguments(tool_input: dict[str, Any]) -> dict[str, Any] | str:
    patch = tool_input.get("command")
    if len(tool_input) == 1 and isinstance(patch, str) and patch.startswith(PATCH):
        return patch
    return _models(tool_input)


def _models(tool_input: dict[str, Any]) -> dict[str, Any]:
    model = tool_input.get("model")
    if "agent_type" not in tool_input or not isinstance(model, str):
        return tool_input
    others = {key: value for key, value in tool_input.items() if key != "model"}
    known = _MODELS.get(model, "" if model == "fable" else model)
    return others | {"model": known} if known else others
