"""Records the state after `baton hooks install`: checksums of the installed files, and unusual paths."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baton.cli.hooks.entries import EVENTS, kind_of
from baton.cli.hooks.files import SHIM, shim_folder, targets
from baton.cli.hooks.hook_files import installed
from baton.cli.hooks.json_edit import UnclearError
from baton.local.config import INSTALLED, config_path, digests_name, home, stored
from baton.local.hook import session_start
from baton.local.hook.clients import settings_file
from baton.local.hook.main import shim_files

PARTS = ("the shim", "its library", "the hook entries", "the switch for all hooks")
"""What the checksums are of, in their order."""
_LONGEST = 1_000
"""Bytes of the list of paths that the shim sends: the server reads 1,024."""


def manifest(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the values for the config file from the machine's present state; "" for missing ones."""
    found = {digests_name(client): digests(client, env) if _hooks(client, env) else "" for client in EVENTS}
    found[INSTALLED] = _elsewhere(env)
    return {name: value for name, value in found.items() if value or stored(name, env)}


def digests(client: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the checksums of the installed shim and of a client's settings, as the shim itself makes them.

    The files are only read: they may be another's by now.
    """
    hooks = _hooks(client, env)
    kind = kind_of(next(iter(hooks.values()))) if hooks else "sh"
    library, shim = shim_files()[::-1] if kind == "python" else (str(shim_folder(env) / name) for name in SHIM)
    return session_start.digests(client, shim, library, settings_file(client, env, str(home(env))))


def differences(client: str, env: Mapping[str, str] = os.environ) -> list[str] | None:
    """Return the changed parts of an installation; None if it was not recorded for this client."""
    if not (known := stored(digests_name(client), env)):
        return None
    pairs = zip(PARTS, digests(client, env).split(","), known.split(","), strict=False)
    return [part for part, now, then in pairs if now != then]


def _hooks(client: str, env: Mapping[str, str]) -> dict[str, Any]:
    for target in targets(".", client, "user", env):
        try:
            return installed(client, target.read())
        except (OSError, UnicodeDecodeError, UnclearError):
            return {}
    return {}


def _elsewhere(env: Mapping[str, str]) -> str:
    """Return the paths outside the server's lists, and the paths recorded before."""
    own = home(env)
    usual = [Path(settings_file(client, {}, str(own))).parent for client in EVENTS]
    usual += [own / ".config" / "baton", own / ".local" / "share" / "baton"]
    real = [target.path for client in EVENTS for target in targets(".", client, "user", env)]
    real += [shim_folder(env), config_path(env).parent]
    paths = stored(INSTALLED, env).split(":")
    paths += [str(path) for path in real if not any(path.is_relative_to(folder) for folder in usual)]
    kept = [path for path in dict.fromkeys(paths) if path and ":" not in path and path.isprintable()]
    while len(":".join(kept).encode()) > _LONGEST:
        kept.pop(0)
    return ":".join(kept)
