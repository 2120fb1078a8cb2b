"""The files behind `baton hooks`: the clients' settings, their backups, the installed shim."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from baton.cli.hooks.shims import Shim, ShimKind, find_program, quote
from baton.clients.registry import SPECS
from baton.local.config import config_path, home, replace_file
from baton.local.hook.clients import settings_file
from baton.shared import packaged

Scope = Literal["user", "project"]
SHIM = ("baton-lib.sh", "baton-hook.sh")
"""In the order in which they are written: the file that the other one sources comes first."""


class Target(msgspec.Struct, frozen=True):
    """One settings file of one client."""

    client: str
    scope: Scope
    path: Path

    def read(self) -> str:
        """Return the text, "" if there is no file. Raises OSError, UnicodeDecodeError."""
        return self.path.read_bytes().decode() if self.path.exists() else ""

    def write(self, text: str, *, keep: bool = False, secret: bool = False) -> None:
        """Replace the file, with a backup of the old text if `keep`. "" removes the file. Raises OSError.

        With `secret` nobody else may read it.
        """
        old = self.path.read_bytes() if self.path.exists() else None
        if not text:
            self.path.resolve().unlink(missing_ok=True)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        mode = self.path.stat().st_mode & 0o777 if old is not None else 0o644
        if keep and old is not None:
            replace_file(self.backup, old, mode=mode)
        replace_file(self.path, text.encode(), mode=0o600 if secret else mode)
        if self.backup.exists() and self.backup.read_bytes() == text.encode():
            self.backup.unlink()

    @property
    def backup(self) -> Path:
        """The path of the file as it was before Baton first changed it."""
        return self.path.with_name(f"{self.path.name}.before-baton")


def targets(
    root: str, client: str | None = None, scope: Scope | None = None, env: Mapping[str, str] = os.environ
) -> Iterator[Target]:
    """List the settings files of a client and scope, or of all of them."""
    for name, spec in SPECS.items():
        user = Path(settings_file(name, env, str(home(env))))
        project = Path(root) / spec.project_file
        for one in ("user", "project") if scope is None else (scope,):
            path = user if one == "user" else project
            # In the home folder the project's file is the user's own: listed once, unless that scope is requested.
            if client in {None, name} and (scope or one == "user" or path != user):
                yield Target(client=name, scope=one, path=path)


def shim_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Return the shim's folder. It is outside the package, so it survives a moved or removed checkout."""
    return Path(env.get("XDG_DATA_HOME") or home(env) / ".local" / "share") / "baton"


def shim_word(scope: Scope, env: Mapping[str, str] = os.environ) -> str:
    """Return the shim's path as a shell word; for a project by `$HOME`, so that it fits teammates too."""
    path = shim_folder(env) / SHIM[-1]
    if scope == "user" or not path.is_relative_to(home(env)):  # a project's settings may change HOME
        return quote(str(path), "sh")
    text = re.sub(r'([\\"$`])', r"\\\1", str(path.relative_to(home(env))))
    return f'"$HOME/{text}"'


def config_word(scope: Scope, env: Mapping[str, str] = os.environ) -> str:
    """Return the hooks' config file, "" for the user's own."""
    return str(config_path(env).absolute()) if scope == "user" else ""


def other_shim(kind: ShimKind, scope: Scope, env: Mapping[str, str] = os.environ) -> Shim | None:
    """Return the shim other than the POSIX one, None for the POSIX one.

    A project's entries are for the whole team, so they name `baton` by the search path.
    """
    if kind == "sh":
        return None
    path = find_program(env) if scope == "user" else ""
    return Shim(path=path, config=config_word(scope, env), windows=sys.platform == "win32")


def copy_shim(env: Mapping[str, str] = os.environ, kind: ShimKind = "sh") -> None:
    """Install the shim of this version; `baton hook` is installed with the program."""
    folder = shim_folder(env)
    for name in SHIM if kind == "sh" else ():
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / name, (_shipped() / name).read_bytes(), mode=0o644 if name == SHIM[0] else 0o755)


def shim_state(env: Mapping[str, str] = os.environ, kind: ShimKind = "sh") -> str:
    """Compare the installed shim with this version's: `current`, `different` or `missing`."""
    if kind == "python":
        return "current" if find_program(env) else "missing"
    folder = shim_folder(env)
    if not all((folder / name).is_file() for name in SHIM):
        return "missing"
    same = all((folder / name).read_bytes() == (_shipped() / name).read_bytes() for name in SHIM)
    return "current" if same else "different"


def _shipped() -> Path:
    return packaged.folder("hooks")
