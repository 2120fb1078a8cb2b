"""The words that an agent reads: what was found, what to do instead, and how a person gets out of it. It decides nothing."""

import re
from collections.abc import Mapping

from app.engine.call import ToolCall

PLACEHOLDERS = frozenset(
    {"tool", "name", "program", "command", "target", "path", "agent", "model", "sink", "why", "count", "other", "tools"}
)
ANY_TASK = "Task(prompt='...', subagent_type='general-purpose')"
_SLOT = re.compile(r"\{([a-z_]+)\}")
_QUOTED = re.compile(r"[\\'\n\r]")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


def slots(template: str) -> list[str]:
    """The names in braces."""
    return _SLOT.findall(template)


def fill(template: str, found: Mapping[str, str]) -> str:
    """Put what was found into a rule's text; a name that was not found becomes `…`."""
    return _SLOT.sub(lambda slot: found.get(slot.group(1), "…"), template) if "{" in template else template


def task(agent: str, prompt: str) -> str:
    """A ready-made call."""
    return f"Task(\n    prompt='{_quote(prompt)}',\n    subagent_type='{_quote(agent)}'\n)"


def one_line(suggestion: str) -> str:
    """A suggestion for the middle of a text; one that is no call stands behind the general one."""
    if not suggestion.startswith("Task("):
        return ANY_TASK
    return re.sub(r"\(\n\s+|\n\)\Z", lambda m: "(" if m.group().startswith("(") else ")", suggestion).replace(
        ",\n    ", ", "
    )


def where(rule: str, call: ToolCall) -> str:
    """Who decided about whom."""
    thread = f"sub-agent {call.agent_type or call.agent_id}" if call.is_subagent else "main thread"
    return f"Rule {rule}, session {call.session_id[:64] or 'unknown'}, {thread}."


def orchestrator_deny(rule: str, reason: str, suggestion: str, call: ToolCall) -> str:
    """A refusal that the mode causes."""
    return (
        f"🎯 ORCHESTRATOR MODE: {reason}\n\nUse: {one_line(suggestion)}\n\n"
        f"To disable orchestrator mode: baton mode disable (for the person to run, not the agent)\n\n{where(rule, call)}"
    )


def deny(rule: str, reason: str, suggestion: str, call: ToolCall) -> str:
    """A refusal whatever the mode."""
    instead = f"\n\nInstead: {suggestion}" if suggestion else ""
    return (
        f"🛑 BATON: {reason}{instead}\n\n{where(rule, call)} "
        f"A person who needs this runs it outside the agent, or turns the rule off: `{rule}: off` in config.yaml."
    )


def ask(rule: str, reason: str, suggestion: str, call: ToolCall) -> str:
    """A question to the person."""
    instead = f"\n\nInstead: {suggestion}" if suggestion else ""
    return f"✋ BATON: {reason}{instead}\n\n{where(rule, call)} The person decides."


def softened(reason: str) -> str:
    """A refusal that the guidance level softened."""
    return f"⚠️ ORCHESTRATOR: {reason}"


def allowed(reason: str) -> str:
    """Guidance beside an allowed call."""
    return f"✅ {reason}"


def _quote(text: str) -> str:
    return _QUOTED.sub(lambda char: _ESCAPES[char.group()], text)
