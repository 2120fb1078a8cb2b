"""Qwen Code's dialect: Claude Code's events and answers, with its own tool names.

Since 0.24.4 calls have the sub-agent's `agent_id` and a `tool_call_id`. In earlier versions, only a sub-agent's start
and stop reveal it (`HookEvent.sign`).
"""

from typing import Any

import msgspec

from baton.clients import claude_code, spec
from baton.clients.event import AgentSign, HookAnswer, HookEvent, at_ms, text

name = "qwen"
_TOOLS = {
    "run_shell_command": "Bash", "monitor": "Monitor", "edit": "Edit", "write_file": "Write",
    "notebook_edit": "NotebookEdit", "read_file": "Read", "zoom_image": "Read", "grep_search": "Grep", "glob": "Glob",
    "list_directory": "LS", "agent": "Agent", "task": "Agent", "web_fetch": "WebFetch", "web_search": "WebSearch",
    "todo_write": "TodoWrite", "task_create": "TaskCreate", "task_update": "TaskUpdate", "task_list": "TaskList",
    "task_stop": "TaskStop", "send_message": "SendMessage", "skill": "Skill", "tool_search": "ToolSearch",
    "ask_user_question": "AskUserQuestion", "enter_plan_mode": "EnterPlanMode", "exit_plan_mode": "ExitPlanMode",
}  # fmt: skip
SPEC = spec.Spec(
    name=name,
    title="Qwen Code",
    package="@qwen-code/qwen-code",
    marks="QWEN_CODE",
    version="0.24.4",
    subagents=(
        "yes, by `agent_id`; where its calls have no `tool_call_id` (earlier versions) by the time, from"
        " SubagentStart to SubagentStop"
    ),
    model="no: it ignores a changed input",
    ask="asks; headless it refuses",
    events=(
        spec.ClientEvent("SessionStart", "SessionStart", spec.START, "context"),
        spec.ClientEvent("UserPromptSubmit", "UserPromptSubmit", spec.PROMPT, "block context"),
        spec.ClientEvent("PreToolUse", "PreToolUse", spec.CALL, "block ask"),
        spec.ClientEvent("PostToolUse", "PostToolUse", spec.RESULT, "context"),
        spec.ClientEvent("PostToolUseFailure", "PostToolUseFailure", spec.FAILURE),
        spec.ClientEvent("SubagentStart", "SubagentStart", spec.SUBAGENT, "context"),
        spec.ClientEvent("SubagentStop", "SubagentStop", spec.SUBAGENT_END),
        spec.ClientEvent("Stop", "Stop", spec.TURN_END),
        spec.ClientEvent("SessionEnd", "SessionEnd", spec.END),
        spec.ClientEvent("PermissionRequest", "", spec.NOT_PROVEN),
        spec.ClientEvent("PermissionDenied", "", spec.NOT_PROVEN),
        spec.ClientEvent("UserPromptExpansion", "", "not used: it comes after the command's shell lines have run"),
        spec.ClientEvent("InstructionsLoaded", "", spec.TALK),
        spec.ClientEvent("MessageDisplay", "", spec.TALK),
        spec.ClientEvent("Notification", "", spec.TALK),
        spec.ClientEvent("PostCompact", "", "not used: nothing is decided by it"),
        spec.ClientEvent("PostToolBatch", "", "not used: PostToolUse reports each call"),
        spec.ClientEvent("PreCompact", "", "not used: nothing is decided by it"),
        spec.ClientEvent("SessionDelete", "", "not used: Baton's records have a retention of their own"),
        spec.ClientEvent("StopFailure", "", "not used: the turn continues or Stop follows"),
        spec.ClientEvent("TodoCompleted", "", "not used: a list entry; its work is calls"),
        spec.ClientEvent("TodoCreated", "", "not used: a list entry; its work is calls"),
    ),
    notes=(
        "Advice on a call follows its result.",
        (
            "It shows a person no message of a hook: Baton's messages reach the model instead, at a session's"
            " start and with a prompt."
        ),
        (
            "In earlier versions calls name no sub-agent: of several at once it is not known which one makes a call,"
            " and one that runs in the background is held for the main agent."
        ),
        (
            "It runs the `!{line}` of a command (`commands/*.toml` and `*.md`) before any hook (driven). It asks the"
            " person by its own rules, but not in yolo mode. Baton judges such a line only when an agent writes it."
            " Its skills run none."
        ),
        (
            "Its http hooks reach 127.0.0.1, also for SessionStart, and it honours a refusal (driven). While nobody listens,"
            " and after a status of 503, the call runs, and no setting stops it. It posts to a proxy as Claude Code does. So"
            " the shim asks."
        ),
    ),
    tools=_TOOLS,
    longest_wait=50,
    waiting="the call with a spinner and its seconds, no hook; Esc ends the turn, and the hook waits on. After 60 s it runs the call, whatever the timeout of its hook says",
    task_tool="agent tool",
    task_call=("agent", {"description": "{name}", "prompt": "{prompt}", "subagent_type": "{agent}"}),
    takes_model=False,
    takes_rewrites=False,
    advice_after=True,
    project_file=".qwen/settings.json",
    trust="It runs a project's hooks only in a folder trusted by the person.",
    takes_comments=True,
    in_milliseconds=True,  # it accepts seconds too, but earlier versions do not
    windows_shell="cmd",
)
_NO_AGENT_RUNS = {"UserPromptSubmit", "Stop", "SessionStart", "SessionEnd"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. After each round of tools it sends an empty prompt, which is ignored."""
    found = claude_code.read_as(SPEC, payload, event)
    sign = _sign(payload, found)
    nobody_prompts = found.name == "UserPromptSubmit" and not found.prompt
    # `Explore-call_4eee5cac6d30` is an agent of the type `Explore`.
    return msgspec.structs.replace(
        found,
        name="other" if nobody_prompts else found.name,
        tool_name=SPEC.tools.get(found.tool_name, found.tool_name),
        agent_type=found.agent_type
        or (found.agent_id.rpartition("-")[0] if found.name in {"PreToolUse", "PostToolUse"} else ""),
        sign=sign,
    )


def _sign(payload: dict[str, Any], found: HookEvent) -> AgentSign | None:
    at = at_ms(payload)
    if found.name in _NO_AGENT_RUNS:
        return AgentSign(kind="none", at_ms=at)
    if found.name == "SubagentStart":
        return AgentSign(kind="start", at_ms=at, agent=found.agent_type, agent_id=found.agent_id)
    if found.name == "SubagentStop":
        return AgentSign(kind="end", at_ms=at, agent=found.agent_type)
    names_agents = found.agent_id or text(payload, "tool_call_id", "prompt_id")
    return AgentSign(kind="call", at_ms=at) if found.name == "PreToolUse" and not names_agents else None


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer, without the ignored rewrite and context of a call. The model gets the person's message."""
    if event == "PreToolUse":
        answer = msgspec.structs.replace(answer, context="", system_message="")
    told = msgspec.structs.replace(answer, updated_input=None, context=answer.context_for_both, system_message="")
    return claude_code.render(event, told)
