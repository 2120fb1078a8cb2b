"""The files behind `baton hooks`: the clients' settings, their backups, the installed shim."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from baton.cli.hooks.entries import EVENTS, ClientName
from baton.cli.hooks.shims import Shim, ShimKind, find_program
from baton.local.config import home, replace_file
from baton.shared import packaged

Scope = Literal["user", "project"]
SHIM = ("baton-lib.sh", "baton-hook.sh")
"""In the order in which they are written: the file that the other one sources comes first."""
FILES: dict[ShimKind, tuple[str, ...]] = {"sh": SHIM, "python": (), "powershell": ("baton-hook.ps1",)}
"""What each kind of shim has in its folder."""


class Target(msgspec.Struct, frozen=True):
    """One settings file of one client."""

    client: ClientName
    scope: Scope
    path: Path

    def read(self) -> str:
        """Return the text, "" if there is no file. Raises OSError, UnicodeDecodeError."""
        return self.path.read_bytes().decode() if self.path.exists() else ""

    def write(self, text: str, *, keep: bool = False) -> None:
        """Replace the file, with a backup of the old text if `keep`. "" removes the file. Raises OSError."""
        old = self.path.read_bytes() if self.path.exists() else None
        if not text:
            self.path.resolve().unlink(missing_ok=True)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        mode = self.path.stat().st_mode & 0o777 if old is not None else 0o644
        if keep and old is not None:
            replace_file(self.backup, old, mode=mode)
        replace_file(self.path, text.encode(), mode=mode)
        if self.backup.exists() and self.backup.read_bytes() == text.encode():
            self.backup.unlink()

    @property
    def backup(self) -> Path:
        """The path of the file as it was before Baton first changed it."""
        return self.path.with_name(f"{self.path.name}.before-baton")


def targets(
    root: str,
    client: ClientName | None = None,
    scope: Scope | None = None,
    env: Mapping[str, str] = os.environ,
) -> Iterator[Target]:
    """List the settings files of a client and scope, or of all of them."""
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home(env) / ".claude")
    config = Path(env.get("XDG_CONFIG_HOME") or home(env) / ".config")
    copilot = Path(env.get("COPILOT_HOME") or home(env) / ".copilot")
    gemini = Path(env.get("GEMINI_CLI_HOME") or home(env)) / ".gemini"
    qwen = Path(env.get("QWEN_HOME") or home(env) / ".qwen")
    codex = Path(env.get("CODEX_HOME") or home(env) / ".codex")
    files: dict[tuple[ClientName, Scope], Path] = {
        ("claude-code", "user"): claude / "settings.json",
        ("claude-code", "project"): Path(root) / ".claude" / "settings.json",
        ("codex", "user"): codex / "hooks.json",
        ("codex", "project"): Path(root) / ".codex" / "hooks.json",
        ("copilot-cli", "user"): copilot / "hooks" / "baton.json",
        ("gemini", "user"): gemini / "settings.json",
        ("gemini", "project"): Path(root) / ".gemini" / "settings.json",
        ("cursor", "user"): home(env) / ".cursor" / "hooks.json",
        ("cursor", "project"): Path(root) / ".cursor" / "hooks.json",
        ("continue", "user"): Path(env.get("CONTINUE_GLOBAL_DIR") or home(env) / ".continue") / "settings.json",
        ("continue", "project"): Path(root) / ".continue" / "settings.json",
        ("qwen", "user"): qwen / "settings.json",
        ("qwen", "project"): Path(root) / ".qwen" / "settings.json",
        ("opencode", "user"): config / "opencode" / "plugin" / "baton.js",
        ("opencode", "project"): Path(root) / ".opencode" / "plugin" / "baton.js",
        ("copilot-cli", "project"): Path(root) / ".github" / "hooks" / "baton.json",
    }
    for name in EVENTS:
        for one in ("user", "project") if scope is None else (scope,):
            path = files[name, one]
            # In the home folder the project's file is the user's own: it is listed once, unless somebody asks for that scope.
            if client in {None, name} and (scope or one == "user" or path != files[name, "user"]):
                yield Target(client=name, scope=one, path=path)


def shim_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Return the shim's folder. It is outside the package, so that a moved or removed checkout leaves it in place."""
    return Path(env.get("XDG_DATA_HOME") or home(env) / ".local" / "share") / "baton"


def shim_word(env: Mapping[str, str] = os.environ) -> str:
    """Return the shim's path as a shell word, relative to `$HOME` if it is there, so that it fits teammates too."""
    path = shim_folder(env) / SHIM[-1]
    inside = path.is_relative_to(home(env))
    text = str(path.relative_to(home(env)) if inside else path)
    quoted = re.sub(r'([\\"$`])', r"\\\1", text)
    return f'"$HOME/{quoted}"' if inside else f'"{quoted}"'


def other_shim(kind: ShimKind, scope: Scope, env: Mapping[str, str] = os.environ) -> Shim | None:
    """Return a shim that is not the POSIX one, None for that.

    A project's entries are for the whole team, so they name `baton` by the search path.
    """
    windows = sys.platform == "win32"
    if kind == "sh":
        return None
    if kind == "powershell":
        return Shim(kind=kind, path=str(shim_folder(env) / FILES[kind][0]), windows=windows)
    return Shim(kind=kind, path=find_program(env) if scope == "user" else "", windows=windows)


def copy_shim(env: Mapping[str, str] = os.environ, kind: ShimKind = "sh") -> None:
    """Install the shim of this version; `baton hook` is installed with the program."""
    folder = shim_folder(env)
    for name in FILES[kind]:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / name, (_shipped() / name).read_bytes(), mode=0o644 if name == SHIM[0] else 0o755)


def shim_state(
    env: Mapping[str, str] = os.environ, kind: ShimKind = "sh"
) -> Literal["current", "different", "missing"]:
    """Compare the installed shim with the one of this version."""
    if kind == "python":
        is_there = shutil.which("baton", path=env.get("PATH")) or find_program(env)
        return "current" if is_there else "missing"
    folder = shim_folder(env)
    if not all((folder / name).is_file() for name in FILES[kind]):
        return "missing"
    same = all((folder / name).read_bytes() == (_shipped() / name).read_bytes() for name in FILES[kind])
    return "current" if same else "different"


def _shipped() -> Path:
    return packaged.folder("hooks")
