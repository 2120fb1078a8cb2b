"""The words that an agent reads: what was found, what to do instead, and how a person gets out of it. It decides nothing."""

import re
from collections.abc import Mapping
from functools import lru_cache

from baton.engine.call.call import ToolCall

PLACEHOLDERS = frozenset(
    {
        "tool",
        "name",
        "program",
        "command",
        "target",
        "task_tool",
        "path",
        "agent",
        "model",
        "sink",
        "why",
        "count",
        "other",
        "tools",
    }
)
CODEX = "codex"
_SLOT = re.compile(r"\{([a-z_]+)\}")
_QUOTED = re.compile(r"[\\'\n\r]")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


def slots(template: str) -> list[str]:
    """The names in braces."""
    return _SLOT.findall(template)


def fill(template: str, found: Mapping[str, str]) -> str:
    """Put what was found into a rule's text; a name that was not found becomes `…`."""
    if "{" not in template:
        return template
    parts = list(_parts(template))
    for at in range(1, len(parts), 2):
        parts[at] = found.get(parts[at], "…")
    return "".join(parts)


@lru_cache(maxsize=4_096)
def _parts(template: str) -> tuple[str, ...]:
    """A rule's text taken apart: what stands between the slots, and in turn the names of the slots."""
    return tuple(_SLOT.split(template))


def task_tool(client: str) -> str:
    """What a client calls the tool that starts a sub-agent."""
    return "spawn_agent" if client == CODEX else "Task tool"


@lru_cache(maxsize=1_024)
def task(agent: str, prompt: str, client: str) -> str:
    """A ready-made call that starts a sub-agent, in the client's words: Codex knows no kinds of agents."""
    if client == CODEX:
        name = re.sub(r"[^a-z0-9]+", "_", agent.lower())
        return f"spawn_agent(\n    task_name='{name}',\n    message='{_quote(prompt)}',\n    fork_turns='none'\n)"
    return f"Task(\n    prompt='{_quote(prompt)}',\n    subagent_type='{_quote(agent)}'\n)"


@lru_cache(maxsize=1_024)
def one_line(suggestion: str, client: str) -> str:
    """A suggestion for the middle of a text; in the place of one that is no call stands the general one."""
    if not suggestion.startswith(("Task(", "spawn_agent(")):
        suggestion = task("general-purpose", "...", client)
    return re.sub(r"\(\n\s+|\n\)\Z", lambda m: "(" if m.group().startswith("(") else ")", suggestion).replace(
        ",\n    ", ", "
    )


def where(rule: str, call: ToolCall) -> str:
    """Who decided about whom."""
    thread = f"sub-agent {call.agent_type or call.agent_id}" if call.is_subagent else "main thread"
    return f"Rule {rule}, session {call.session_id[:64] or 'unknown'}, {thread}."


Frame = tuple[str, str]
"""What stands before and after the words on who decided about whom."""


def orchestrator_deny(reason: str, suggestion: str, client: str) -> Frame:
    """A refusal that the mode causes."""
    before = (
        f"🎯 ORCHESTRATOR MODE: {reason}\n\nUse: {one_line(suggestion, client)}\n\n"
        "To disable orchestrator mode: baton mode disable (for the person to run, not the agent)\n\n"
    )
    return before, ""


def deny(rule: str, reason: str, suggestion: str) -> Frame:
    """A refusal whatever the mode."""
    instead = f"\n\nInstead: {suggestion}" if suggestion else ""
    after = f" A person who needs this runs it outside the agent, or turns the rule off: `{rule}: off` in config.yaml."
    return f"🛑 BATON: {reason}{instead}\n\n", after


def ask(reason: str, suggestion: str, client: str) -> Frame:
    """A question to the person."""
    instead = f"\n\nInstead: {suggestion}" if suggestion else ""
    who = "Codex cannot ask: the person may run it outside the agent." if client == CODEX else "The person decides."
    return f"✋ BATON: {reason}{instead}\n\n", f" {who}"


def softened(reason: str) -> str:
    """A refusal that the guidance level softened."""
    return f"⚠️ ORCHESTRATOR: {reason}"


def allowed(reason: str) -> str:
    """Guidance beside an allowed call."""
    return f"✅ {reason}"


def _quote(text: str) -> str:
    return _QUOTED.sub(lambda char: _ESCAPES[char.group()], text)
