"""Puts Baton's entries into a client's settings text, finds them there, takes them out. It reads and writes no files.

Everything else in the text stays as it stands. A text that is not understood is refused by UnclearError.
"""

from collections.abc import Iterator
from typing import Any

from baton.cli.hooks.entries import is_ours
from baton.cli.hooks.json_edit import UnclearError, check, drop, line_of, put


def install(text: str, groups: dict[str, dict[str, Any]]) -> str:
    """Bring a text to hold exactly these groups of ours; unchanged where it does already. "" is a new file."""
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
    """Take out every entry of ours, and what stood only for it."""
    if not (events := _read(text)):
        return text
    for event in events:
        text = _settle(text, event, None)
    return text if _read(text) or not list(_ours(events)) else drop(text, ["hooks"])


def installed(text: str) -> dict[str, dict[str, Any]]:
    """Find our entries: event → entry."""
    return {event: hook for event, _, _, hook in _ours(_read(text))}


def _settle(text: str, event: str, group: dict[str, Any] | None) -> str:
    """Keep at most one group of ours in an event, and make it this one, where it stands or else as the last."""
    groups = _read(text)[event]
    mine = [(g, h) for name, g, h, _ in _ours({event: groups}) if name == event]
    alone = [g for g in range(len(groups)) if groups[g]["hooks"] and all(is_ours(hook) for hook in groups[g]["hooks"])]
    kept = alone[0] if group is not None and alone else None
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
