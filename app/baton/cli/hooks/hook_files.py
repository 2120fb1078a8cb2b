"""Installs, finds and removes Baton's entries in a client's file of any form."""

from typing import Any

from baton.cli.hooks import own_file, settings
from baton.cli.hooks.entries import DECIDING, HookOptions, commands, groups
from baton.cli.hooks.json_edit import UnclearError, check, comment_line
from baton.clients.registry import SPECS

_OWN_FILE = frozenset({"own file", "plugin"})


def install(text: str, options: HookOptions) -> str:
    """Return a file's text with the hooks. Raises UnclearError if it cannot be changed safely."""
    spec = SPECS[options.client]
    if not spec.takes_comments and (found := comment_line(text)):
        raise UnclearError(found, f"it has a comment, and {options.client} does not read files with comments")
    if spec.form in _OWN_FILE:
        own_file.installed(text)  # refuses another's file
        if spec.form == "plugin":
            return own_file.plugin(commands(options))
        is_windows = options.other is not None and options.other.windows
        return own_file.copilot_file(commands(options), "powershell" if is_windows else "bash")
    if spec.form == "flat":
        # Cursor lets a call run if a hook fails. With `failClosed`, even a missing hook program refuses it.
        hooks = {
            spec.natives[event]: hook | ({"failClosed": True} if options.fail_closed and event in DECIDING else {})
            for event, hook in commands(options).items()
        }
        return settings.install(text, hooks, flat=True)
    return settings.install(text, groups(options))


def uninstall(client: str, text: str) -> str:
    """Return a file's text without the hooks, "" if nothing is left of it. Raise UnclearError."""
    if SPECS[client].form in _OWN_FILE:
        return "" if own_file.is_ours(text) else text
    return settings.uninstall(text, flat=SPECS[client].form == "flat") if text else ""


def is_empty(text: str) -> bool:
    """Return whether nothing is left in a file written only by Baton."""
    return not text.strip() or (check(text) in ({}, settings.EMPTY_FLAT) and not comment_line(text))


def installed(client: str, text: str) -> dict[str, dict[str, Any]]:
    """Return Baton's entries by event. Raise UnclearError."""
    if SPECS[client].form in _OWN_FILE:
        return own_file.installed(text)
    known, found = SPECS[client].names, settings.installed(text or "{}", flat=SPECS[client].form == "flat")
    return {known.get(event, event): hook for event, hook in found.items()}


def off_switch(client: str, text: str) -> str:
    """Return the name of the setting to disable all of a file's hooks, "" if unset. Raise UnclearError."""
    switch = SPECS[client].off_switch
    if switch is None:
        return ""
    name, value = switch
    found: Any = check(text or "{}")
    for key in name.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return name if found is value else ""
