"""opencode's dialect: Baton's plugin with Claude Code's answers. Plugins cannot ask, so ask becomes deny."""

from typing import Any

import msgspec

from baton.clients import claude_code
from baton.clients.event import HookAnswer, HookEvent, event_name, text, tool_input_of
from baton.clients.spec import CALL, MODEL, PROMPT, RESULT, START, ClientEvent, Spec

name = "opencode"
_TOOLS = {
    "bash": "Bash", "edit": "Edit", "write": "Write", "read": "Read", "grep": "Grep", "glob": "Glob", "list": "LS",
    "task": "Agent", "apply_patch": "apply_patch", "patch": "apply_patch", "multiedit": "MultiEdit",
    "todowrite": "TodoWrite", "todoread": "TodoRead", "webfetch": "WebFetch", "websearch": "WebSearch",
    "skill": "Skill", "question": "AskUserQuestion",
}  # fmt: skip
SPEC = Spec(
    name=name,
    title="opencode",
    package="opencode-ai",
    marks="OPENCODE(_PID|_CALLER|_CLIENT)?",
    version="1.18.33",
    subagents="yes, by the parent of their session",
    model="no: its task tool takes none",
    events=(
        ClientEvent("chat.message", "SessionStart", START, "context"),
        ClientEvent("chat.message", "UserPromptSubmit", PROMPT, "block context"),
        ClientEvent("tool.execute.before", "PreToolUse", CALL, "block ask rewrite context"),
        ClientEvent("tool.execute.after", "PostToolUse", RESULT, ""),
        ClientEvent("event", "", "which session is a sub-agent's; nothing is sent"),
        ClientEvent("command.execute.before", "", "not used: it comes after the command's shell lines have run"),
        ClientEvent("chat.params", "", MODEL),
        ClientEvent("chat.headers", "", MODEL),
        ClientEvent("shell.env", "", "not used: no rule sets variables"),
        ClientEvent("tool.definition", "", MODEL),
        ClientEvent("permission.ask", "", "not used: it did not fire"),
    ),
    notes=(
        "Its hooks are a plugin, which runs the shim; `--pure` starts opencode without it.",
        "The context of a call follows its result, since the call itself cannot have one.",
        "Its MCP tools are called `server_tool`: rules for `mcp__*` do not know them.",
        (
            "It runs the `` !`line` `` of a command (`command/*.md`) before any hook (driven): Baton judges such a"
            " line only when an agent writes it. Its skills run none."
        ),
    ),
    tools=_TOOLS,
    longest_wait=540,
    waiting="the call, no hook; Esc twice ends the turn, and the hook waits on",
    agents_by_file=True,
    task_tool="task tool",
    task_call=("task", {"description": "{name}", "prompt": "{prompt}", "subagent_type": "{agent}"}),
    agents={"Explore": "explore", "general-purpose": "general"},
    no_question="opencode cannot ask here: the person may run it outside the agent.",
    takes_model=False,
    project_file=".opencode/plugin/baton.js",
    form="plugin",
    off_switch=None,
    takes_comments=True,  # it is a program
    windows_shell="cmd",
)


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. A sub-agent's session belongs to the root of its parents."""
    native = text(payload, "event") or event
    session, given, output = (_part(payload, key) for key in ("session", "input", "output"))
    own = text(session, "id") or text(given, "sessionID")
    tool = SPEC.tools.get(named := text(given, "tool"), named)
    return HookEvent(
        client=name,
        name=event_name(SPEC, native),
        native_name=native,
        session_id=text(session, "root") or own,
        agent_id=own if text(session, "parent") else "",
        agent_type=text(session, "agent"),
        cwd=text(payload, "directory"),
        tool_name=tool,
        tool_input=_arguments(tool_input_of(tool, output if output.get("args") else given, "args")),
        tool_use_id=text(given, "callID"),
        source=text(payload, "source"),
        prompt=_prompt(output.get("parts")),
    )


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer for the plugin."""
    if answer.effect == "ask":
        answer = msgspec.structs.replace(answer, effect="deny")
    return claude_code.render(event, answer)


def _part(payload: dict[str, Any], key: str) -> dict[str, Any]:
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    patch = given.get("patchText")  # rules expect a patch under Codex's key
    return given | {"command": patch} if isinstance(patch, str) else given


def _prompt(parts: Any) -> str:
    said = [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    return "\n".join(text(one, "text") for one in said if one.get("type") == "text" and not one.get("synthetic"))
