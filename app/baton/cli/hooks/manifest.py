"""What `baton hooks install` writes down of a machine: checksums of what it installed, and paths elsewhere than usual."""

import os
import subprocess
from collections.abc import Mapping

from baton.cli.hooks.entries import EVENTS, ClientName
from baton.cli.hooks.files import SHIM, shim_folder, targets
from baton.cli.hooks.hook_files import installed
from baton.cli.hooks.json_edit import UnclearError
from baton.local.config import DIGESTS, INSTALLED, config_path, home, stored
from baton.shared import packaged

PARTS = ("the shim", "its library", "the hook entries", "the switch for all hooks")
"""What the checksums are of, in their order."""
_LONGEST = 1_000
"""Bytes of the list of paths that the shim sends: the server reads 1,024."""
_MEASURE = '. "$1"; measure "$2" "$3" "$4"; printf %s "$digests"'


def manifest(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the values for the config file, as the machine is now; "" for what it no longer has."""
    found = {DIGESTS[client]: digests(client, env) if _has_hooks(client, env) else "" for client in EVENTS}
    found[INSTALLED] = _elsewhere(env)
    return {name: value for name, value in found.items() if value or stored(name, env)}


def digests(client: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the checksums of the installed shim and of a client's settings, in the words of the shim itself.

    The shim's function is taken from this package: what is installed may be another's by now, and is only read.
    """
    library, hook = (shim_folder(env) / name for name in SHIM)
    own = packaged.folder("hooks") / SHIM[0]
    ran = subprocess.run(
        ["sh", "-c", _MEASURE, "sh", own, client, hook, library],
        capture_output=True,
        text=True,
        env=dict(env),
        check=False,
    )
    return ran.stdout


def differences(client: str, env: Mapping[str, str] = os.environ) -> list[str] | None:
    """Return which parts are not as they were installed; None if nothing was written down for this client."""
    known = stored(DIGESTS[client], env)
    if not known:
        return None
    pairs = zip(PARTS, digests(client, env).split(","), known.split(","), strict=False)
    return [part for part, now, then in pairs if now != then]


def _has_hooks(client: ClientName, env: Mapping[str, str]) -> bool:
    for target in targets(".", client, "user", env):
        try:
            return bool(installed(client, target.read()))
        except (OSError, UnicodeDecodeError, UnclearError):
            return False
    return False


def _elsewhere(env: Mapping[str, str]) -> str:
    """Return the paths that the server's lists do not cover, besides those that were written down before."""
    own = home(env)
    usual = [own / ".claude", own / ".codex", own / ".copilot", own / ".config" / "baton", own / ".config" / "opencode"]
    usual += [own / ".gemini", own / ".qwen", own / ".local" / "share" / "baton"]
    real = [target.path for client in EVENTS for target in targets(".", client, "user", env)]
    real += [shim_folder(env), config_path(env).parent]
    paths = stored(INSTALLED, env).split(":")
    paths += [str(path) for path in real if not any(path.is_relative_to(folder) for folder in usual)]
    kept = [path for path in dict.fromkeys(paths) if path and ":" not in path and path.isprintable()]
    while len(":".join(kept).encode()) > _LONGEST:
        kept.pop(0)
    return ":".join(kept)
