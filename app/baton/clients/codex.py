"""Codex CLI's dialect. Unlike Claude Code, it runs the tool if a deny has an unknown key."""

from typing import Any

from baton.clients import claude_code
from baton.clients.event import HookAnswer, HookEvent, clip
from baton.clients.spec import CALL, END, PROMPT, RESULT, START, SUBAGENT, SUBAGENT_END, TURN_END, ClientEvent, Spec

name = "codex"
SPEC = Spec(
    name=name,
    title="Codex CLI",
    package="@openai/codex",
    marks="CODEX_(SANDBOX|THREAD_ID|CI).*",
    version="0.169.0",
    subagents="yes, by `agent_id`",
    model="no: its agents have no types",
    events=(
        ClientEvent("SessionStart", "SessionStart", START, "context"),
        ClientEvent("UserPromptSubmit", "UserPromptSubmit", PROMPT, "block context"),
        ClientEvent("PreToolUse", "PreToolUse", CALL, "block ask rewrite context"),
        ClientEvent("PostToolUse", "PostToolUse", RESULT, ""),
        ClientEvent("SubagentStart", "SubagentStart", SUBAGENT),
        ClientEvent("SubagentStop", "SubagentStop", SUBAGENT_END),
        ClientEvent("Stop", "Stop", TURN_END),
        ClientEvent("SessionEnd", "SessionEnd", END),
        ClientEvent(
            "PermissionRequest", "PermissionRequest", "refuses in the dialog what another hook has made of the call"
        ),
        ClientEvent("PreCompact", "", "not used: nothing is decided by it"),
        ClientEvent("PostCompact", "", "not used: nothing is decided by it"),
    ),
    notes=(
        "It runs new hooks only after a person has trusted them in `/hooks`.",
        "Its skills and prompts run no shell lines (driven).",
    ),
    longest_wait=240,
    waiting="`Running hook`; Esc ends the hook. After 30 s its model continues; then Esc does not, and an approved call runs unseen",
    task_tool="spawn_agent",
    task_call=("spawn_agent", {"task_name": "{name}", "message": "{prompt}", "fork_turns": "none"}),
    no_question="Codex cannot ask: the person may run it outside the agent.",
    project_file=".codex/hooks.json",
    trust="Codex reads a project's hooks only when the project is trusted.",
    windows_shell="powershell",
)
_NO_REASON = "refused by Baton"
_WITH_CONTEXT = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read any event. Its payloads have Claude Code's shape."""
    return claude_code.read_as(SPEC, payload, event)


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer. Ask becomes deny, since it is unsupported; a rewrite requires allow."""
    refused = answer.effect in {"deny", "ask"}
    reason = (answer.reason or _NO_REASON).removesuffix(".")  # Codex appends `. Command: …`
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
