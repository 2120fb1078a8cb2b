"""Gemini CLI's dialect: own event names, mostly flat answers, no names of sub-agents (`HookEvent.sign`)."""

from typing import Any

import msgspec

from baton.clients import claude_code
from baton.clients.event import AgentSign, HookAnswer, HookEvent, at_ms, clip, text
from baton.clients.spec import CALL, END, MODEL, PROMPT, RESULT, START, TALK, TURN_END, ClientEvent, Spec

name = "gemini"
_TOOLS = {
    "run_shell_command": "Bash", "replace": "Edit", "write_file": "Write", "read_file": "Read",
    "read_many_files": "Read", "grep_search": "Grep", "search_file_content": "Grep", "glob": "Glob",
    "list_directory": "LS", "invoke_agent": "Agent", "web_fetch": "WebFetch", "google_web_search": "WebSearch",
    "write_todos": "TodoWrite", "activate_skill": "Skill", "ask_user": "AskUserQuestion",
    "enter_plan_mode": "EnterPlanMode", "exit_plan_mode": "ExitPlanMode", "read_background_output": "BashOutput",
    "list_background_processes": "BashOutput",
}  # fmt: skip
SPEC = Spec(
    name=name,
    title="Gemini CLI",
    package="@google/gemini-cli",
    marks="GEMINI_CLI",
    version="0.61.0",
    subagents=(
        "by the time: from the call of `invoke_agent` to its result. Calls of the turn that starts it are the"
        " main agent's"
    ),
    model="no: its agent tool takes none",
    events=(
        ClientEvent("SessionStart", "SessionStart", START, "context"),
        ClientEvent("BeforeAgent", "UserPromptSubmit", PROMPT, "block context"),
        ClientEvent("BeforeTool", "PreToolUse", CALL, "block ask rewrite"),
        ClientEvent("AfterTool", "PostToolUse", RESULT, "context"),
        ClientEvent("AfterAgent", "Stop", TURN_END),
        ClientEvent("SessionEnd", "SessionEnd", END),
        ClientEvent("PreCompress", "PreCompress", "comes ahead of each request to a model: whose turn it is"),
        ClientEvent("BeforeModel", "", MODEL),
        ClientEvent("AfterModel", "", MODEL),
        ClientEvent("BeforeToolSelection", "", MODEL),
        ClientEvent("Notification", "", TALK),
    ),
    notes=(
        "A question would end a run without a terminal in silence, so it is a refusal that names the way out.",
        "Advice on a call follows its result.",
        (
            "Of sub-agents that run at once it is not known which one makes a call: they share one history, and have"
            " no type."
        ),
        (
            "A sub-agent counts as ended with its result, at the next prompt, at the end of the turn or the session,"
            " when the main agent's model is asked before it has made a call, and after an hour without a call."
            " Without Redis none counts as running, and the answer says `degraded: subagents`."
        ),
        (
            "A sub-agent whose first call Gemini refuses itself, such as a tool that it does not have, is held for"
            " the main agent from then on, with other running ones: no hook distinguishes it from a resumed main agent."
        ),
        "It runs a project's hooks only in a trusted folder.",
        (
            "It runs the `!{line}` of a command (`commands/*.toml`) before any hook (driven). It asks the person by"
            " its own policy, but not in yolo mode. Baton judges such a line only when an agent writes it. Its skills"
            " run none."
        ),
        "Its calls have no id, so a call that another hook changed is not noticed.",
    ),
    tools=_TOOLS,
    longest_wait=540,
    waiting="`Executing Hook` with its command; Esc ends the turn, and the hook waits on",
    task_tool="invoke_agent tool",
    task_call=("invoke_agent", {"agent_name": "{agent}", "prompt": "{prompt}"}),
    agents={"Explore": "codebase_investigator", "general-purpose": "generalist"},
    no_question="Gemini CLI cannot ask here: the person may run it outside the agent.",
    takes_model=False,
    advice_after=True,
    project_file=".gemini/settings.json",
    off_switch=("hooksConfig.enabled", False),
    trust="It runs a project's hooks only in a folder trusted by the person.",
    takes_comments=True,
    in_milliseconds=True,
    windows_shell="powershell",
)
_WITH_CONTEXT = {"SessionStart", "UserPromptSubmit", "PostToolUse"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. The shim uses Baton's event names, the payload Gemini's. No call names its agent."""
    found = claude_code.read_as(SPEC, payload, event)
    return msgspec.structs.replace(
        found,
        native_name=found.native_name if found.name == "other" else found.name,
        agent_id="",
        agent_type="",
        tool_name=_tool(payload),
        sign=_sign(payload, found.name, text(found.tool_input, "agent_name")),
    )


def _tool(payload: dict[str, Any]) -> str:
    mcp = payload.get("mcp_context")
    if isinstance(mcp, dict) and (server := text(mcp, "server_name")) and (tool := text(mcp, "tool_name")):
        return f"mcp__{server}__{tool}"
    tool = text(payload, "tool_name", "toolName")
    return SPEC.tools.get(tool, tool)


def _sign(payload: dict[str, Any], event: str, agent: str) -> AgentSign | None:
    at = at_ms(payload)
    starts = _tool(payload) == "Agent"
    match event:
        case "PreToolUse":
            return AgentSign(kind="start" if starts else "call", at_ms=at, agent=agent)
        case "PostToolUse":
            return AgentSign(kind="end", at_ms=at, agent=agent) if starts else None
        case "PreCompress":  # before every request to a model, except a sub-agent's first
            return AgentSign(kind="turn", at_ms=at)
        case "UserPromptSubmit" | "Stop" | "SessionStart" | "SessionEnd":
            return AgentSign(kind="none", at_ms=at)
    return None


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer. A question would silently end a run without a terminal, so ask becomes deny.

    A rewrite is the whole input: Gemini replaces it, although its documentation says it merges.
    """
    event = SPEC.names.get(event, event)
    out: dict[str, Any] = {"systemMessage": answer.system_message} if answer.system_message else {}
    if answer.effect != "none":
        return out | {"decision": "deny", "reason": answer.reason}
    specific: dict[str, Any] = {}
    if event == "PreToolUse" and answer.updated_input is not None:
        specific["tool_input"] = answer.updated_input
    if answer.context and event in _WITH_CONTEXT:
        specific["additionalContext"] = clip(answer.context)
    return out | {"hookSpecificOutput": specific} if specific else out
