"""What `baton hooks` does to a client's file, whatever its form: install, find and remove Baton's entries."""

from typing import Any

from baton.cli.hooks import own_file, settings
from baton.cli.hooks.entries import ClientName, HookOptions, commands, groups
from baton.cli.hooks.json_edit import check

_OWN_FILE: frozenset[ClientName] = frozenset({"copilot-cli", "opencode"})


def install(text: str, options: HookOptions) -> str:
    """Return a file's text with the hooks. Raises UnclearError for one that cannot be changed safely."""
    if options.client in _OWN_FILE:
        own_file.installed(text)  # refuses another's file
        form = own_file.plugin if options.client == "opencode" else own_file.copilot_file
        return form(commands(options))
    return settings.install(text, groups(options))


def uninstall(client: ClientName, text: str) -> str:
    """Return a file's text without the hooks, "" if nothing is left of it. Raises UnclearError."""
    if client in _OWN_FILE:
        return "" if own_file.is_ours(text) else text
    return settings.uninstall(text) if text else ""


def installed(client: ClientName, text: str) -> dict[str, dict[str, Any]]:
    """Return Baton's entries by event. Raises UnclearError."""
    return own_file.installed(text) if client in _OWN_FILE else settings.installed(text or "{}")


def is_off(client: ClientName, text: str) -> bool:
    """Return whether a file switches all its hooks off. Raises UnclearError."""
    return client != "opencode" and check(text or "{}").get("disableAllHooks") is True
