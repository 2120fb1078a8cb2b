"""What `baton hooks` does to a client's file, whatever its form: install, find and remove Baton's entries."""

from typing import Any

from baton.cli.hooks import flat_settings, own_file, settings
from baton.cli.hooks.entries import GEMINI_EVENTS, ClientName, HookOptions, commands, groups
from baton.cli.hooks.json_edit import check

_OF_GEMINI = {native: event for event, native in GEMINI_EVENTS.items()}
_OWN_FILE: frozenset[ClientName] = frozenset({"copilot-cli", "opencode"})


def install(text: str, options: HookOptions) -> str:
    """Return a file's text with the hooks. Raises UnclearError for one that cannot be changed safely."""
    if options.client in _OWN_FILE:
        own_file.installed(text)  # refuses another's file
        if options.client == "opencode":
            return own_file.plugin(commands(options))
        is_windows = options.other is not None and options.other.windows
        return own_file.copilot_file(commands(options), "powershell" if is_windows else "bash")
    if options.client == "cursor":
        return flat_settings.install(text, commands(options), fail_closed=options.fail_closed)
    return settings.install(text, groups(options))


def uninstall(client: ClientName, text: str) -> str:
    """Return a file's text without the hooks, "" if nothing is left of it. Raise UnclearError."""
    if client in _OWN_FILE:
        return "" if own_file.is_ours(text) else text
    form = flat_settings if client == "cursor" else settings
    return form.uninstall(text) if text else ""


def is_empty(text: str) -> bool:
    """Return whether nothing is left in a file that only Baton has written to."""
    return not text.strip() or check(text) in ({}, flat_settings.EMPTY)


def installed(client: ClientName, text: str) -> dict[str, dict[str, Any]]:
    """Return Baton's entries by event. Raise UnclearError."""
    if client in _OWN_FILE:
        return own_file.installed(text)
    if client == "cursor":
        return flat_settings.installed(text)
    native = _OF_GEMINI if client == "gemini" else {}
    return {native.get(event, event): hook for event, hook in settings.installed(text or "{}").items()}


def off_switch(client: ClientName, text: str) -> str:
    """Return the name of the setting by which a file switches all its hooks off, "" if it does not. Raise UnclearError."""
    if client == "opencode":
        return ""
    found = check(text or "{}")
    if client == "gemini":
        switch = found.get("hooksConfig")
        return "hooksConfig.enabled" if isinstance(switch, dict) and switch.get("enabled") is False else ""
    return "disableAllHooks" if found.get("disableAllHooks") is True else ""
