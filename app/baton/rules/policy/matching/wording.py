"""The texts for an agent: the finding, the alternative, and the way for a person to change the rule."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from baton.clients.registry import words_of
from baton.lib.text.visible import visible
from baton.rules.call.call import ToolCall

PLACEHOLDERS = frozenset({
    "tool", "name", "program", "command", "target", "task_tool", "path", "agent", "model", "sink", "why", "count",
    "other", "tools", "what",
})  # fmt: skip
HELD = "The client runs a line of this file when it loads it, so the line is judged as a command. "
_SLOT = re.compile(r"\{([a-z_]+)\}")
_QUOTED = re.compile(r"[\\'\n\r]")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


def slots(template: str) -> list[str]:
    """Return the placeholders in a string: the names in braces."""
    return _SLOT.findall(template)


def fill(template: str, found: Mapping[str, str]) -> str:
    """Fill in the placeholders of a rule's text; a missing one becomes `…`, a missing command the tool's name."""
    if "{" not in template:
        return template
    parts = list(_parts(template))
    for at in range(1, len(parts), 2):
        missing = found.get("tool", "…") if parts[at] == "command" else "…"
        parts[at] = visible(found.get(parts[at], missing))
    return "".join(parts)


@lru_cache(maxsize=4_096)
def _parts(template: str) -> tuple[str, ...]:
    return tuple(_SLOT.split(template))


@lru_cache(maxsize=1_024)
def task(agent: str, prompt: str, client: str) -> str:
    """Return a ready-made call for starting a sub-agent, in the client's syntax."""
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
    """Return a suggested call as one line; any other suggestion becomes a general call."""
    if not suggestion.startswith(f"{words_of(client).task_call[0]}("):
        suggestion = task("general-purpose", "...", client)
    return re.sub(r"\(\n\s+|\n\)\Z", lambda m: "(" if m.group().startswith("(") else ")", suggestion).replace(
        ",\n    ", ", "
    )


def where(rule: str, call: ToolCall) -> str:
    """Return the deciding rule, session and agent."""
    thread = f"sub-agent {call.agent_type or call.agent_id}" if call.is_subagent else "main thread"
    return f"Rule {rule}, session {session_of(call)}, {thread}."


def session_of(call: ToolCall) -> str:
    """Return the id of a call's session, as texts show it."""
    return call.session_id[:64] or "unknown"


DECISION_ID = "DECISION_ID"
"""Stands in a refusal for the id of the decision, which only a recorded one has."""
Frame = tuple[str, str]  # the text of a refusal or question before and after the words of `where`


def orchestrator_deny(reason: str, suggestion: str, client: str) -> Frame:
    """Return the refusal of a rule that only runs in orchestrator mode."""
    before = (
        f"🎯 ORCHESTRATOR MODE: {reason}\n\nUse: {one_line(suggestion, client)}\n\n"
        "To disable orchestrator mode: baton mode disable (for the person to run, not the agent)\n\n"
    )
    return before, ""


def deny(reason: str, suggestion: str, way: str) -> Frame:
    """Return the refusal of a rule that always runs; `way` is that of `way_out`."""
    instead = f"\n\nInstead: {suggestion}" if suggestion else ""
    return f"🛑 BATON: {reason}{instead}\n\n", f" A person who needs this runs it in their own terminal. {way}"


def place_of(source: str) -> tuple[str, str]:
    """Return the tier and the name of the layer that a file of a revision comes from: `tier/name:path`."""
    place, colon, _ = source.rpartition(":")
    tier, _, name = place.partition("/")
    return (tier, name) if colon else ("shipped", "")


def way_out(rule: str, source: str, *, locked: bool) -> str:
    """Return who can lift a rule that refuses, and how. `{user}` is filled in by `addressed`, `DECISION_ID` later."""
    ask = f"`baton request {DECISION_ID} --reason WHY`"
    lift = f"grant an exception; ask for it: {ask}."
    tier, name = map(visible, place_of(source))
    if locked:
        unlock = f"`baton policy unlock {rule} --user {{user}} --reason WHY`"
        return f"The rule is locked. An admin can unlock it for a time ({unlock}). After that, ask for an exception: {ask}."
    if tier == "user":
        return f"It is a rule of `{name}`, who can {lift}"
    if tier == "team":
        return f"A lead of team `{name}` or an admin can {lift}"
    if tier == "project":
        return f"An admin, or a lead of the team of project `{name}`, can {lift}"
    return f"They ask for an exception: {ask}. Or they turn it off for themselves: `{rule}: off` below `rules:` in a folder's config.yaml, then `baton policy push FOLDER --tier user --activate --reason WHY`."


def addressed(text: str, user: str) -> str:
    """Fill in the person of a call."""
    return text.replace("{user}", visible(user))


def ask(reason: str, suggestion: str, client: str) -> Frame:
    """Return the question to the person."""
    instead = f"\n\nInstead: {suggestion}" if suggestion else ""
    who = words_of(client).no_question or "The person decides."
    return f"✋ BATON: {reason}{instead}\n\n", f" {who}"


def for_person(text: str) -> str:
    """Return what a question's rule says, without the words around it for the agent."""
    return text.removeprefix("✋ BATON: ").split("\n\nRule ", 1)[0]


def guessed(reason: str, found: Mapping[str, str]) -> str:
    """Return the reason of a rule matching only the possible command of an unknown program."""
    return f"An unknown program gets `{found.get('command', 'a command')}` and may run it. {reason}"


def rewritten(rule: str, keys: Sequence[str], tool: str, reason: str) -> str:
    """Return the notice to the person that a rule changed more of a call than its model."""
    return f"Baton changed {', '.join(f'`{key}`' for key in keys)} of a call of {tool}. Rule {rule}: {reason}"


def softened(reason: str) -> str:
    """Return the advice replacing a refusal at the guidance level."""
    return f"⚠️ ORCHESTRATOR: {reason}"


def allowed(reason: str) -> str:
    """Return the guidance for an allowed call."""
    return f"✅ {reason}"


def _quote(text: str) -> str:
    return _QUOTED.sub(lambda char: _ESCAPES[char.group()], text)
