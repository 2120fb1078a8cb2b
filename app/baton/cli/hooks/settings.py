"""Adds, finds and removes Baton's entries in the text of a client's settings.

An event has a list of groups of hooks; in a flat file (Cursor's) a list of hooks. Everything else in the text stays as it is. Raises UnclearError if it cannot be edited safely.
"""

from collections.abc import Iterator
from typing import Any

from baton.cli.hooks.entries import is_ours
from baton.cli.hooks.json_edit import UnclearError, check, drop, line_of, put

EMPTY_FLAT: dict[str, Any] = {"version": 1}
"""What is left of a flat file that Baton has made."""


def install(text: str, groups: dict[str, dict[str, Any]], *, flat: bool = False) -> str:
    """Return the text with exactly these groups of ours; the same text if it has them already. "" is a new file."""
    text = text or (put("{}\n", ["version"], 1) if flat else "{}\n")
    events = _read(text, flat)
    for event in events:
        text = _settle(text, event, groups.get(event), flat)
    if "hooks" not in check(text):
        text = put(text, ["hooks"], {})
    for event, group in groups.items():
        if event not in events:
            text = put(text, ["hooks", event], [group])
    return text


def uninstall(text: str, *, flat: bool = False) -> str:
    """Return the text without our entries, and without groups and lists emptied by that."""
    if not (events := _read(text, flat)):
        return text
    for event in events:
        text = _settle(text, event, None, flat)
    return text if _read(text, flat) or not list(_ours(events)) else drop(text, ["hooks"])


def installed(text: str, *, flat: bool = False) -> dict[str, dict[str, Any]]:
    """Return our entries by event."""
    return {event: hook for event, _, _, hook in _ours(_read(text, flat))}


def _settle(text: str, event: str, group: dict[str, Any] | None, flat: bool) -> str:
    """Keep exactly this group of ours in an event, in its old place or else at the end; None for no group."""
    groups = _read(text, flat)[event]
    mine = [(g, h) for name, g, h, _ in _ours({event: groups}) if name == event]
    alone = [g for g, one in enumerate(groups) if _hooks(one) and all(map(is_ours, _hooks(one)))]
    # A group with other hooks besides ours stays: only ours is removed from it.
    kept = alone[0] if group is not None and alone else None
    # From the end, so that removals do not shift the remaining places.
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
    return drop(text, ["hooks", event]) if mine and not _read(text, flat)[event] else text


def _ours(events: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, int, int, dict[str, Any]]]:
    for event, groups in events.items():
        for g, group in enumerate(groups):
            for h, hook in enumerate(_hooks(group)):
                if is_ours(hook):
                    yield event, g, h, hook


def _hooks(group: Any) -> list[Any]:
    return group["hooks"] if isinstance(group, dict) and "hooks" in group else [group]


def _read(text: str, flat: bool) -> dict[str, list[dict[str, Any]]]:
    events = check(text).get("hooks", {})
    if not isinstance(events, dict):
        raise UnclearError(line_of(text, ["hooks"]), "`hooks` is not an object")
    for event, groups in events.items():
        if not isinstance(groups, list):
            raise UnclearError(line_of(text, ["hooks", event]), f"`hooks.{event}` is not a list")
        for index, group in enumerate(groups):
            if not flat and not (isinstance(group, dict) and isinstance(group.get("hooks"), list)):
                line = line_of(text, ["hooks", event, index])
                raise UnclearError(line, f"an item of `hooks.{event}` is not an object with a list `hooks`")
    return events
