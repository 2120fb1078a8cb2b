"""Claude Code's dialect: reads its hook events, renders its answers.

A `null` in a known field, a wrong `hookEventName` or an unknown decision word makes it drop the whole answer and run
the tool. So answers contain only requested fields.
"""

from typing import Any

from baton.clients import spec
from baton.clients.event import HookAnswer, HookEvent, clip, duration, event_name, text, tool_input_of

name = "claude-code"
SPEC = spec.Spec(
    name=name,
    title="Claude Code",
    program="claude",
    package="@anthropic-ai/claude-code",
    marks="CLAUDECODE|CLAUDE_CODE_(ENTRYPOINT|SESSION_ID|SSE_PORT)|CLAUDE_PID",
    version="2.1.332",
    subagents="yes, by `agent_id`",
    model="yes",
    ask="asks; headless it refuses",
    events=(
        spec.ClientEvent("SessionStart", "SessionStart", spec.START, "context"),
        spec.ClientEvent("UserPromptSubmit", "UserPromptSubmit", spec.PROMPT, "block context"),
        spec.ClientEvent("PreToolUse", "PreToolUse", spec.CALL, "block ask rewrite context"),
        spec.ClientEvent("PostToolUse", "PostToolUse", spec.RESULT, ""),
        spec.ClientEvent("PostToolUseFailure", "PostToolUseFailure", spec.FAILURE),
        spec.ClientEvent("SubagentStart", "SubagentStart", spec.SUBAGENT, "context"),
        spec.ClientEvent("SubagentStop", "SubagentStop", spec.SUBAGENT_END),
        spec.ClientEvent("Stop", "Stop", spec.TURN_END),
        spec.ClientEvent("SessionEnd", "SessionEnd", spec.END),
        spec.ClientEvent("PermissionDenied", "PermissionDenied", spec.FAILURE),
        spec.ClientEvent(
            "PermissionRequest",
            "PermissionRequest",
            "refuses in the dialog what another hook has made of the call; marks the agent as waiting",
            "block",
        ),
        spec.ClientEvent(
            "PreSkillShellCommand", "PreSkillShellCommand", "decides a shell line of a skill or a command", "block"
        ),
        spec.ClientEvent(
            "UserPromptExpansion",
            "UserPromptExpansion",
            "decides a command's shell lines in versions without PreSkillShellCommand",
            "block",
        ),
        spec.ClientEvent(
            "ConfigChange",
            "",
            "not used: a running session keeps the hooks that it has read (measured headless), and SessionStart compares them",
        ),
        spec.ClientEvent("CwdChanged", "", "not used: each call names its folder"),
        spec.ClientEvent("DirectoryAdded", "", "not used: places are judged by path, not by what the client may open"),
        spec.ClientEvent("Elicitation", "", "not used: an MCP server's question to the person"),
        spec.ClientEvent("ElicitationResult", "", "not used: the person's answer"),
        spec.ClientEvent("FileChanged", "", "not used: PostToolUse reports agents' edits"),
        spec.ClientEvent("InstructionsLoaded", "", spec.TALK),
        spec.ClientEvent("MessageDisplay", "", spec.TALK),
        spec.ClientEvent("Notification", "", "not used: PermissionRequest has the same with the call"),
        spec.ClientEvent("PostCompact", "", "not used: SessionStart with `compact` follows"),
        spec.ClientEvent("PostModelSwitch", "", spec.MODEL),
        spec.ClientEvent("PostToolBatch", "", "not used: PostToolUse reports each call"),
        spec.ClientEvent("PreCompact", "", "not used: SessionStart with `compact` follows"),
        spec.ClientEvent("PreModelSwitch", "", "not used: only a person switches the session's own model"),
        spec.ClientEvent("Setup", "", "not used: maintenance by the person, without an agent's call"),
        spec.ClientEvent("StopFailure", "", "not used: the turn continues or Stop follows"),
        spec.ClientEvent("TaskCompleted", "", "not used: a list entry; its work is calls"),
        spec.ClientEvent("TaskCreated", "", "not used: a list entry; its work is calls"),
        spec.ClientEvent("TeammateIdle", "", "not used: its calls are decided one by one"),
        spec.ClientEvent("WorktreeCreate", "", "not used: a hook there replaces git"),
        spec.ClientEvent("WorktreeRemove", "", "not used: a hook there replaces git"),
    ),
    notes=(
        "Agents of its `Workflow` tool start without a call that could be asked about, on their caller's model.",
        (
            "It runs the `` !`line` `` of a skill or a command while it loads the text, without a tool call. From"
            " 2.1.332 on PreSkillShellCommand asks about each line: a refused one is left out of the text, and nobody"
            " can be asked. In every version the shim reads the text at the call of `Skill` and at a person's slash"
            " command: a line that a rule stops stops the loading."
        ),
        (
            "Where two hooks change one call, the last to finish wins, and one change is lost. Baton compares the"
            " input that ran with the one that it judged (outcome `changed_by_other`), judges it again, and informs the"
            " person at the end of the turn. Before a permission dialog PermissionRequest shows the changed call, and"
            " what a rule stops is refused there."
        ),
        (
            "Its http hooks reach the relay on 127.0.0.1, but never for SessionStart (driven). While nobody listens there,"
            " the call runs; `onFailure: block` stops it. With `HTTP_PROXY` or `HTTPS_PROXY` it posts to that proxy, unless"
            " `NO_PROXY` names 127.0.0.1. Then choose `--transport curl`."
        ),
    ),
    longest_wait=540,
    waiting="`running PreToolUse hook` with the seconds; Esc ends the hook. Its `defer` ends a headless run with code 0; Baton waits instead",
    notice_at_end=True,
    task_tool="Task tool",
    task_call=("Task", {"prompt": "{prompt}", "subagent_type": "{agent}"}),
    project_file=".claude/settings.json",
)

_DECIDING = {"PreToolUse", "PreSkillShellCommand"}
_WITH_CONTEXT = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read any event. Unused ones get the name `other`."""
    return read_as(SPEC, payload, event)


def read_as(dialect: spec.Spec, payload: dict[str, Any], event: str) -> HookEvent:
    """Read a payload of Claude Code's shape, for any client that uses it."""
    native = text(payload, "hook_event_name", "hookEventName") or event
    tool = text(payload, "tool_name", "toolName")
    return HookEvent(
        client=dialect.name,
        name=event_name(dialect, native),
        native_name=native,
        session_id=text(payload, "session_id", "sessionId"),
        agent_id=text(payload, "agent_id", "agentId"),
        agent_type=text(payload, "agent_type", "agentType"),
        cwd=text(payload, "cwd"),
        permission_mode=text(payload, "permission_mode", "permissionMode"),
        tool_name=tool,
        tool_input=tool_input_of(tool, payload, "tool_input", "toolInput"),
        tool_use_id=text(payload, "tool_use_id", "toolUseId"),
        tool_response=payload.get("tool_response", payload.get("toolResponse")),
        source=text(payload, "source"),
        reason=text(payload, "reason"),
        prompt=text(payload, "prompt"),
        model=text(payload, "model"),
        command_name=text(payload, "command_name"),
        command_args=text(payload, "command_args"),
        duration_ms=duration(payload, "duration_ms", "durationMs"),
    )


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer. A rewrite has no decision, so that Claude Code still asks the person if needed."""
    out: dict[str, Any] = {}
    if answer.system_message:
        out["systemMessage"] = answer.system_message
    if event == "PermissionRequest":
        if answer.effect == "deny":
            decision = {"behavior": "deny", "message": answer.reason}
            out["hookSpecificOutput"] = {"hookEventName": event, "decision": decision}
        return out
    if event not in _DECIDING and answer.effect == "deny":
        out |= {"decision": "block", "reason": answer.reason}
        return out
    specific: dict[str, Any] = {}
    if event in _DECIDING and answer.effect != "none":
        specific |= {"permissionDecision": answer.effect, "permissionDecisionReason": answer.reason}
    if event == "PreToolUse" and answer.updated_input is not None:
        specific["updatedInput"] = answer.updated_input
    if answer.context and event in _WITH_CONTEXT:
        specific["additionalContext"] = clip(answer.context)
    if specific:
        out["hookSpecificOutput"] = {"hookEventName": event, **specific}
    return out
