"""The texts that an agent reads: what was found, what to do instead, and how a person can change that."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from baton.engine.call.call import ToolCall
from baton.engine.call.client_words import words_of

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
        "what",
    }
)
_SLOT = re.compile(r"\{([a-z_]+)\}")
_QUOTED = re.compile(r"[\\'\n\r]")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


def slots(template: str) -> list[str]:
    """Return the placeholders in a text: the names in braces."""
    return _SLOT.findall(template)


def fill(template: str, found: Mapping[str, str]) -> str:
    """Fill in the placeholders of a rule's text; one that the rule did not find becomes `…`."""
    if "{" not in template:
        return template
    parts = list(_parts(template))
    for at in range(1, len(parts), 2):
        parts[at] = found.get(parts[at], "…")
    return "".join(parts)


@lru_cache(maxsize=4_096)
def _parts(template: str) -> tuple[str, ...]:
    """Split a rule's text into plain text and placeholder names, in turns."""
    return tuple(_SLOT.split(template))


@lru_cache(maxsize=1_024)
def task(agent: str, prompt: str, client: str) -> str:
    """Return a ready-made call that starts a sub-agent, as the client writes it."""
    words = words_of(client)
    name, arguments = words.task_call
    values = {
        "{agent}": words.agents.get(agent, agent),
        "{prompt}": prompt,
        "{name}": re.sub(r"[^a-z0-9]+", "_", agent.lower()),
    }
    lines = ",\n".join(f"    {key}='{_quote(values.get(text, text))}'" for key, text in arguments.items())
    return f"{name}(\n{lines}\n)"


@lru_cache(maxsize=1_024)
def one_line(suggestion: str, client: str) -> str:
    """Return a suggested call as one line; a suggestion that is no call is replaced by a general one."""
    if not suggestion.startswith(f"{words_of(client).task_call[0]}("):
        suggestion = task("general-purpose", "...", client)
    return re.sub(r"\(\n\s+|\n\)\Z", lambda m: "(" if m.group().startswith("(") else ")", suggestion).replace(
        ",\n    ", ", "
    )


def where(rule: str, call: ToolCall) -> str:
    """Return which rule decided, and for which session and agent."""
    thread = f"sub-agent {call.agent_type or call.agent_id}" if call.is_subagent else "main thread"
    return f"Rule {rule}, session {call.session_id[:64] or 'unknown'}, {thread}."


Frame = tuple[str, str]
"""The text of a refusal or question before and after the words of `where`."""


def orchestrator_deny(reason: str, suggestion: str, client: str) -> Frame:
    """Return the refusal of a rule that only runs in orchestrator mode."""
    before = (
        f"🎯 ORCHESTRATOR MODE: {reason}\n\nUse: {one_line(suggestion, client)}\n\n"
        "To disable orchestrator mode: baton mode disable (for the person to run, not the agent)\n\n"
    )
    return before, ""


def deny(rule: str, reason: str, suggestion: str) -> Frame:
    """Return the refusal of a rule that always runs."""
    instead = f"\n\nInstead: {suggestion}" if suggestion else ""
    after = f" A person who needs this runs it outside the agent, or turns the rule off: `{rule}: off` in config.yaml."
    return f"🛑 BATON: {reason}{instead}\n\n", after


def ask(reason: str, suggestion: str, client: str) -> Frame:
    """Return the question to the person."""
    instead = f"\n\nInstead: {suggestion}" if suggestion else ""
    who = words_of(client).no_question or "The person decides."
    return f"✋ BATON: {reason}{instead}\n\n", f" {who}"


def guessed(reason: str, found: Mapping[str, str]) -> str:
    """Return the reason of a rule that matched only what a program that no table knows may run."""
    return f"A program that Baton does not know gets `{found.get('command', 'a command')}` and may run it. {reason}"


def rewritten(rule: str, keys: Sequence[str], tool: str, reason: str) -> str:
    """Return the notice to the person that a rule changed more of a call than its model."""
    return f"Baton changed {', '.join(f'`{key}`' for key in keys)} of a call of {tool}. Rule {rule}: {reason}"


def softened(reason: str) -> str:
    """Return the advice that replaces a refusal at the guidance level."""
    return f"⚠️ ORCHESTRATOR: {reason}"


def allowed(reason: str) -> str:
    """Return the guidance for a call that a rule allows."""
    return f"✅ {reason}"


def _quote(text: str) -> str:
    return _QUOTED.sub(lambda char: _ESCAPES[char.group()], text)
