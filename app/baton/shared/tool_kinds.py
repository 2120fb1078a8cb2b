"""Read a tool call of the Agent Client Protocol by what it does: its kind and its input, not the name that it has."""

import shlex
from typing import Any

SHELL, EDIT = "Bash", "Edit"
EDIT_KINDS = frozenset({"edit", "delete", "move"})
_EDIT_TOOLS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
_UNSAID = frozenset({"", "other"})
_COMMAND_KEYS = ("command", "cmd", "script", "input")


def judged_as(kind: str, name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the tool and the input by which rules judge a call.

    A call that executes something is a shell line, and one that edits, deletes or moves is an edit, whatever the agent
    calls its tool: `mcp__box__run` with a command is no safer than `Bash`. A tool without name and kind that has a
    command is a shell, too.
    """
    if kind == "execute" or (kind in _UNSAID and name in _UNSAID):
        line = command_line(given)
        if line:
            return SHELL, given | {"command": line}
        return (SHELL if kind == "execute" else name), given
    if kind in EDIT_KINDS and name not in _EDIT_TOOLS:
        return EDIT, given
    return name, given


def command_line(given: dict[str, Any]) -> str:
    """Return the line that a call's input would run, "" for none: a text, a list of words, or a program and its `args`."""
    words = _words(given.get("args"))
    for key in _COMMAND_KEYS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return f"{value} {shlex.join(words)}" if words else value
        if first := _words(value):
            return shlex.join([*first, *words])
    return shlex.join(words)


def _words(value: object) -> list[str]:
    """Return a list of words, an empty one for anything else."""
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else []
