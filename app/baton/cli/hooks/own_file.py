"""Clients with a separate hook file of Baton's: Copilot CLI's JSON, opencode's plugin.

The file is written and removed whole. A file of that name not written by Baton is left unchanged.
"""

import json
from typing import Any

from baton.cli.hooks import entries
from baton.cli.hooks.json_edit import UnclearError, check
from baton.clients import copilot_cli
from baton.shared import packaged

_HOOKS = "const HOOKS = "
_FOREIGN = "it has hooks not written by Baton"


def copilot_file(hooks: dict[str, dict[str, Any]], key: str = "bash") -> str:
    """Return Copilot CLI's file for these commands by event; `key` names their shell."""
    events = {
        copilot_cli.SPEC.natives[event]: [{"type": "command", key: hook["command"], "timeoutSec": hook["timeout"]}]
        for event, hook in hooks.items()
    }
    return json.dumps({"version": 1, "hooks": events}, indent=2) + "\n"


def plugin(hooks: dict[str, dict[str, Any]]) -> str:
    """Return the text of opencode's plugin with these commands by event."""
    shipped = (packaged.folder("hooks") / "opencode-plugin.js").read_text()
    return shipped.replace(f"{_HOOKS}{{}}", _HOOKS + json.dumps(hooks), 1)


def is_ours(text: str) -> bool:
    """Return whether Baton has written a file."""
    try:
        return bool(installed(text))
    except UnclearError:
        return False


def installed(text: str) -> dict[str, dict[str, Any]]:
    """Return the entries of a file by event, as `{"command": …}`; {} for no file.

    Raises:
        UnclearError: If Baton has not written it.
    """
    if not text.strip():
        return {}
    if _HOOKS in text:
        return dict(check(text.partition(_HOOKS)[2].partition("\n")[0]))
    hooks = check(text).get("hooks")
    events: dict[str, Any] = hooks if isinstance(hooks, dict) else {"": None}
    found = {native: held if isinstance(held, list) else [None] for native, held in events.items()}
    if not all(entries.is_ours(_as_entry(one)) for held in found.values() for one in held):
        raise UnclearError(1, _FOREIGN)
    return {copilot_cli.SPEC.names.get(native, native): _as_entry(held[0]) for native, held in found.items() if held}


def _as_entry(one: Any) -> dict[str, Any]:
    return {"command": one.get("bash") or one.get("powershell")} if isinstance(one, dict) else {}
