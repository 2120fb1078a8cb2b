"""What `baton hooks install` writes down of a machine: checksums of what it installed, and paths elsewhere than usual."""

import os
from collections.abc import Mapping
from typing import Any

from baton.cli.hooks.entries import EVENTS, ClientName, kind_of
from baton.cli.hooks.files import FILES, shim_folder, targets
from baton.cli.hooks.hook_files import installed
from baton.cli.hooks.json_edit import UnclearError
from baton.local.config import DIGESTS, INSTALLED, config_path, home, stored
from baton.local.hook import session_start
from baton.local.hook.main import shim_files

PARTS = ("the shim", "its library", "the hook entries", "the switch for all hooks")
"""What the checksums are of, in their order."""
_LONGEST = 1_000
"""Bytes of the list of paths that the shim sends: the server reads 1,024."""


def manifest(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the values for the config file, as the machine is now; "" for what it no longer has."""
    found = {DIGESTS[client]: digests(client, env) if _hooks(client, env) else "" for client in EVENTS}
    found[INSTALLED] = _elsewhere(env)
    return {name: value for name, value in found.items() if value or stored(name, env)}


def digests(client: ClientName, env: Mapping[str, str] = os.environ) -> str:
    """Return the checksums of the installed shim and of a client's settings, as the shim itself makes them.

    The files are only read: they may be another's by now.
    """
    hooks = _hooks(client, env)
    kind = kind_of(next(iter(hooks.values()))) if hooks else "sh"
    if kind == "python":
        shim, library = shim_files()
    else:
        names = (*FILES[kind][::-1], "-")
        shim, library = (str(shim_folder(env) / name) for name in names[:2])
    return session_start.digests(client, shim, library, session_start.settings_file(client, env, str(home(env))))


def differences(client: ClientName, env: Mapping[str, str] = os.environ) -> list[str] | None:
    """Return which parts are not as they were installed; None if nothing was written down for this client."""
    known = stored(DIGESTS[client], env)
    if not known:
        return None
    pairs = zip(PARTS, digests(client, env).split(","), known.split(","), strict=False)
    return [part for part, now, then in pairs if now != then]


def _hooks(client: ClientName, env: Mapping[str, str]) -> dict[str, Any]:
    for target in targets(".", client, "user", env):
        try:
            return installed(client, target.read())
        except (OSError, UnicodeDecodeError, UnclearError):
            return {}
    return {}


def _elsewhere(env: Mapping[str, str]) -> str:
    """Return the paths that the server's lists do not cover, besides those that were written down before."""
    own = home(env)
    usual = [own / ".claude", own / ".codex", own / ".copilot", own / ".config" / "baton", own / ".config" / "opencode"]
    usual += [own / ".gemini", own / ".qwen", own / ".cursor", own / ".continue", own / ".local" / "share" / "baton"]
    real = [target.path for client in EVENTS for target in targets(".", client, "user", env)]
    real += [shim_folder(env), config_path(env).parent]
    paths = stored(INSTALLED, env).split(":")
    paths += [str(path) for path in real if not any(path.is_relative_to(folder) for folder in usual)]
    kept = [path for path in dict.fromkeys(paths) if path and ":" not in path and path.isprintable()]
    while len(":".join(kept).encode()) > _LONGEST:
        kept.pop(0)
    return ":".join(kept)
