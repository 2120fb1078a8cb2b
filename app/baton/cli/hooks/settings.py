"""Adds Baton's entries to the text of a client's settings, finds them there, and removes them.

Everything else in the text stays as it is. A text that cannot be edited safely raises UnclearError.
"""

from collections.abc import Iterator
from typing import Any

from baton.cli.hooks.entries import is_ours
from baton.cli.hooks.json_edit import UnclearError, check, drop, line_of, put


def install(text: str, groups: dict[str, dict[str, Any]]) -> str:
    """Return the text with exactly these groups of ours; the same text if it has them already. "" is a new file."""
    text = text or "{}\n"
    events = _read(text)
    for event in events:
        text = _settle(text, event, groups.get(event))
    if "hooks" not in check(text):
        text = put(text, ["hooks"], {})
    for event, group in groups.items():
        if event not in events:
            text = put(text, ["hooks", event], [group])
    return text


def uninstall(text: str) -> str:
    """Return the text without our entries, and without the groups and lists that held nothing else."""
    if not (events := _read(text)):
        return text
    for event in events:
        text = _settle(text, event, None)
    return text if _read(text) or not list(_ours(events)) else drop(text, ["hooks"])


def installed(text: str) -> dict[str, dict[str, Any]]:
    """Return our entries by event."""
    return {event: hook for event, _, _, hook in _ours(_read(text))}


def _settle(text: str, event: str, group: dict[str, Any] | None) -> str:
    """Leave exactly this group of ours in an event, in its old place or else at the end; no group of ours for None."""
    groups = _read(text)[event]
    mine = [(g, h) for name, g, h, _ in _ours({event: groups}) if name == event]
    alone = [g for g in range(len(groups)) if groups[g]["hooks"] and all(is_ours(hook) for hook in groups[g]["hooks"])]
    # A group in which somebody put hooks of their own beside ours is left to them: only ours is taken out of it.
    kept = alone[0] if group is not None and alone else None
    # From the end, so that what is dropped does not move the places that are still to come.
    for g, h in reversed(mine):
        if g not in alone:
            text = drop(text, ["hooks", event, g, "hooks", h])
    if group is not None and kept is None:
        text = put(text, ["hooks", event, len(groups)], group)
    elif group is not None and kept is not None and groups[kept] != group:
        text = put(text, ["hooks", event, kept], group)
    for g in reversed(alone):
        if g != kept:
            text = drop(text, ["hooks", event, g])
    return drop(text, ["hooks", event]) if mine and not _read(text)[event] else text


def _ours(events: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, int, int, dict[str, Any]]]:
    for event, groups in events.items():
        for g, group in enumerate(groups):
            for h, hook in enumerate(group["hooks"]):
                if is_ours(hook):
                    yield event, g, h, hook


def _read(text: str) -> dict[str, list[dict[str, Any]]]:
    events = check(text).get("hooks", {})
    if not isinstance(events, dict):
        raise UnclearError(line_of(text, ["hooks"]), "`hooks` is not an object")
    for event, groups in events.items():
        if not isinstance(groups, list):
            raise UnclearError(line_of(text, ["hooks", event]), f"`hooks.{event}` is not a list")
        for index, group in enumerate(groups):
            if not (isinstance(group, dict) and isinstance(group.get("hooks"), list)):
                line = line_of(text, ["hooks", event, index])
                raise UnclearError(line, f"an item of `hooks.{event}` is not an object with a list `hooks`")
    return events
