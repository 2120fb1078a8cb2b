"""The encodings of a tool's input, and the meaning of a tool's name."""

import re
from functools import lru_cache
from typing import Any

import msgspec

from baton.lib.text.patches import PATCH

_MOST_MARKS = 100_000  # maximum number of quotes and commas in decoded JSON text: about twenty milliseconds
_HALF = re.compile("[\ud800-\udfff]")
_OBJECT = re.compile(r'\s*\{\s*["}]')
_WORD = re.compile(r"[Pp]ower[Ss]hell|[A-Z]?[a-z]+\d?|[A-Z]+(?![a-z])")
_SHELLS = frozenset(
    {"bash", "sh", "zsh", "shell", "terminal", "cmd", "command", "commands", "powershell", "pwsh", "tty", "pty", "tmux"}
)
_RUNS = frozenset(
    {"run", "runs", "exec", "execute", "spawn", "start", "launch", "invoke", "eval", "call", "send", "write", "type"}
    | {"submit", "input", "local", "unified", "container"}
)
_PROCESS = frozenset({"interact", "process"})
_decode = msgspec.json.Decoder().decode


class UnreadableInput(ValueError):
    """A tool cannot be called with this input. The message says why."""


def tool_input_of(tool: str, value: Any) -> dict[str, Any]:
    """Return a tool's input as an object. Raise UnreadableInput for a number, a boolean, or broken JSON.

    A string or a list becomes `command` if the tool's name means running something, or if it is a patch; otherwise
    `input`. A missing, null or empty input becomes {}.
    """
    while isinstance(value, str):
        decoded = decoded_text(value)
        if decoded is None:
            break
        value = decoded
    if isinstance(value, dict):
        return value
    if value is None or value in ("", []):
        return {}
    if isinstance(value, str) and _OBJECT.match(value):
        raise UnreadableInput("is invalid JSON")
    if not isinstance(value, str | list):
        raise UnreadableInput("must be an object")
    is_run = runs_lines(tool) or (isinstance(value, str) and PATCH in value) or is_patch_tool(tool)
    return {"command" if is_run else "input": value}


def decoded_text(text: str) -> Any:
    """Return the object, list or string encoded by JSON text, or None. Raise UnreadableInput for too many values."""
    start = text.lstrip()
    if start[:1] not in ("{", "[", '"'):
        return None
    if text.count('"') + text.count(",") > _MOST_MARKS:
        raise UnreadableInput("is JSON with too many values")
    try:
        value = _decode(_HALF.sub("\ufffd", text))
    except (msgspec.DecodeError, RecursionError):
        return None
    # `[ "$(x)" ]` is JSON, but here it is a shell test to be run.
    if start.startswith("[ ") and isinstance(value, list) and len(value) == 1:
        return None
    return value if isinstance(value, dict | list | str) else None


@lru_cache(maxsize=4_096)
def squeezed(key: str) -> str:
    """Normalize the spelling of a key: `shellCommand`, `shell_command`, `Shell-Command`."""
    return key[:100].lower().replace("_", "").replace("-", "").replace(" ", "")


@lru_cache(maxsize=1_024)
def name_words(tool: str) -> tuple[str, ...]:
    """Return the lower-case words of a tool's name: `mcp__ide__executeCode` → mcp, ide, execute, code."""
    return tuple([word.lower() for word in _WORD.findall(tool)])


@lru_cache(maxsize=1_024)
def runs_lines(tool: str) -> bool:
    """Return whether a tool runs shell lines, by its name: `Bash`, `execute_command`, `mcp__shell__run`."""
    words = name_words(tool)
    own = name_words(tool.rpartition("__")[2])
    names_shell = not _SHELLS.isdisjoint(words)
    return (names_shell and (not _RUNS.isdisjoint(own) or _SHELLS.issuperset(own))) or _PROCESS.issubset(own)


@lru_cache(maxsize=1_024)
def is_patch_tool(tool: str) -> bool:
    """Return whether a tool applies patches, by its name: `apply_patch`, `mcp__fs__apply_diff`."""
    own = name_words(tool.rpartition("__")[2])
    return squeezed(tool).endswith(("applypatch", "applydiff")) or own in (("patch",), ("diff",))
