"""Qwen Code's dialect: Claude Code's events and answers, with its own names of tools.

A call of 0.24.4 names the sub-agent that makes it (`agent_id`), and each has a `tool_call_id`. Calls of earlier versions have
neither: there the start and the stop of a sub-agent say that one runs (`HookEvent.sign`).
"""

from typing import Any

import msgspec

from baton.clients.dialects import claude_code
from baton.clients.event import AgentSign, HookAnswer, HookEvent, at_ms, text

name = "qwen"
_TOOLS = {
    "run_shell_command": "Bash",
    "monitor": "Monitor",
    "edit": "Edit",
    "write_file": "Write",
    "notebook_edit": "NotebookEdit",
    "read_file": "Read",
    "zoom_image": "Read",
    "grep_search": "Grep",
    "glob": "Glob",
    "list_directory": "LS",
    "agent": "Agent",
    "task": "Agent",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "todo_write": "TodoWrite",
    "task_create": "TaskCreate",
    "task_update": "TaskUpdate",
    "task_list": "TaskList",
    "task_stop": "TaskStop",
    "send_message": "SendMessage",
    "skill": "Skill",
    "tool_search": "ToolSearch",
    "ask_user_question": "AskUserQuestion",
    "enter_plan_mode": "EnterPlanMode",
    "exit_plan_mode": "ExitPlanMode",
}
"""Its tools by the names that the engine knows; the same kind of tool, with Qwen's own arguments."""
_NO_AGENT_RUNS = {"UserPromptSubmit", "Stop", "SessionStart", "SessionEnd"}


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. After each round of tools it asks again about an empty prompt, which nobody has sent."""
    found = claude_code.read_as(name, payload, event)
    sign = _sign(payload, found)
    nobody_prompts = found.name == "UserPromptSubmit" and not found.prompt
    return msgspec.structs.replace(
        found,
        name="other" if nobody_prompts else found.name,
        tool_name=_TOOLS.get(found.tool_name, found.tool_name),
        agent_type=found.agent_type
        or (_type_of(found.agent_id) if found.name in {"PreToolUse", "PostToolUse"} else ""),
        sign=sign,
    )


def _type_of(agent_id: str) -> str:
    """Return the type in an agent's id: `Explore-call_4eee5cac6d30` is one of `Explore`."""
    return agent_id.rpartition("-")[0]


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
    """Render an answer. What a person is told goes to the model where it can: the client shows it nowhere.

    A rewrite and a context beside a call are not sent: Qwen Code ignores them.
    """
    if event == "PreToolUse":
        answer = msgspec.structs.replace(answer, context="", system_message="")
    told = msgspec.structs.replace(answer, updated_input=None, context=answer.context_for_both, system_message="")
    return claude_code.render(event, told)
