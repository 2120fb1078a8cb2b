"""Adds Baton's entries to Cursor's `hooks.json`, finds them there, and removes them: each event has a list of hooks, without groups.

Everything else in the text stays as it is. A text that cannot be edited safely raises UnclearError.
"""

from typing import Any

from baton.cli.hooks.entries import DECIDING, is_ours
from baton.cli.hooks.json_edit import UnclearError, check, drop, line_of, put

NATIVE = {
    "SessionStart": "sessionStart",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "PostToolUseFailure": "postToolUseFailure",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "Stop": "stop",
    "SessionEnd": "sessionEnd",
}
"""Cursor's own names of the events."""
_CANONICAL = {native: event for event, native in NATIVE.items()}
EMPTY: dict[str, Any] = {"version": 1}
"""What is left of a file that Baton has made."""


def install(text: str, hooks: dict[str, dict[str, Any]], *, fail_closed: bool) -> str:
    """Return the text with exactly these hooks of ours, by event; the same text if it has them already."""
    wanted = {NATIVE[event]: _entry(event, hook, fail_closed) for event, hook in hooks.items()}
    if {native: hook for native, _, hook in _ours(text)} == wanted:
        return text
    text = _without(text) if text else put("{}\n", ["version"], 1)
    if "hooks" not in check(text):
        text = put(text, ["hooks"], {})
    for native, hook in wanted.items():
        if native not in _read(text):
            text = put(text, ["hooks", native], [])
        text = put(text, ["hooks", native, len(_read(text)[native])], hook)
    return text


def uninstall(text: str) -> str:
    """Return the text without our entries, and without the lists that held nothing else."""
    if not _ours(text):
        return text
    text = _without(text)
    return text if _read(text) else drop(text, ["hooks"])


def installed(text: str) -> dict[str, dict[str, Any]]:
    """Return our entries by event."""
    return {_CANONICAL.get(native, native): hook for native, _, hook in _ours(text)}


def _entry(event: str, hook: dict[str, Any], fail_closed: bool) -> dict[str, Any]:
    # Cursor lets a call run where a hook fails; with `failClosed` also one whose program is missing is refused.
    return hook | ({"failClosed": True} if fail_closed and event in DECIDING else {})


def _without(text: str) -> str:
    for native, index, _ in reversed(_ours(text)):
        text = drop(text, ["hooks", native, index])
        if not _read(text)[native]:
            text = drop(text, ["hooks", native])
    return text


def _ours(text: str) -> list[tuple[str, int, dict[str, Any]]]:
    found = _read(text)
    return [(native, at, hook) for native, hooks in found.items() for at, hook in enumerate(hooks) if is_ours(hook)]


def _read(text: str) -> dict[str, list[Any]]:
    events = check(text or "{}").get("hooks", {})
    if not isinstance(events, dict):
        raise UnclearError(line_of(text, ["hooks"]), "`hooks` is not an object")
    for event, hooks in events.items():
        if not isinstance(hooks, list):
            raise UnclearError(line_of(text, ["hooks", event]), f"`hooks.{event}` is not a list")
    return events
