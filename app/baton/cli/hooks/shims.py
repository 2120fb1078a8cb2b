"""Starts the shim: the line for each kind of shim, quoted for the client's shell."""

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from baton.clients.registry import SPECS

ShimKind = Literal["sh", "python"]
"""`sh` is `hooks/baton-hook.sh`, `python` is `baton hook`."""
Shell = Literal["sh", "cmd", "powershell"]
_PLAIN = re.compile(r"[\w@%+=:,./\\-]+", re.ASCII)


class Shim(msgspec.Struct, frozen=True, kw_only=True):
    """`baton hook` in place of the POSIX shim: the path of the program, and of its config file.

    A `path` of "" is `baton` by the search path, without quotes in any shell. A `config` of "" is the user's own.
    """

    path: str = ""
    config: str = ""
    windows: bool = False


def default_kind() -> ShimKind:
    """Return the kind of shim for this system."""
    return "python" if sys.platform == "win32" else "sh"


def find_program(env: Mapping[str, str]) -> str:
    """Return the path of `baton`, "" if nothing is found. A project's settings may change the search path."""
    beside = [Path(sys.executable).with_name(name) for name in ("baton.exe", "baton")]
    found = shutil.which("baton", path=env.get("PATH"))
    return found or next((str(path) for path in beside if path.is_file()), "")


def shell_of(client: str, shim: Shim) -> Shell:
    """Return the client's shell on this system."""
    if not shim.windows:
        return "sh"
    return SPECS[client].windows_shell or ("sh" if shutil.which("bash") else "powershell")


def line(
    shim: Shim, client: str, event: str, *, block: bool, must: bool, missing: dict[str, Any], waits: bool = False
) -> str:
    """Return the line for an event.

    With `must` a call is refused if the shim itself is missing; otherwise it continues, and `missing` is answered at a
    session's start. On Windows this works for Copilot CLI only, the one client with a known shell.
    """
    shell = shell_of(client, shim)
    start = _start(shim, shell)
    call = f"{start} {client} {event}" + " block" * block + " wait" * waits
    call += f" {quote(shim.config, shell)}" if shim.config else ""
    said = json.dumps(missing) if event == "SessionStart" else ""
    if shell == "sh" and not shim.windows:
        if must:
            return f"{call} || exit 2"
        found = f"command -v {_program(shim, shell)} >/dev/null 2>&1"
        return f"if {found}; then {call}; else echo '{said}'; fi" if said else f"! {found} || {call}"
    if client != "copilot-cli" or must:  # Copilot CLI takes every failure for a refusal
        return call
    found = f"if (Get-Command {_program(shim, shell)} -ErrorAction SilentlyContinue) {{ {call} }}"
    return found + (f" else {{ '{said}' }}" if said else "")


def _program(shim: Shim, shell: Shell) -> str:
    return quote(shim.path or "baton", shell)


def _start(shim: Shim, shell: Shell) -> str:
    program = _program(shim, shell)
    before = {"powershell": "& ", "cmd": "call "}.get(shell, "") if program[:1] in {"'", '"'} else ""
    return f"{before}{program} hook"


def quote(word: str, shell: Shell) -> str:
    """Quote a path for a shell if needed. Git Bash accepts Windows paths only with `/`."""
    if shell == "sh":
        word = word.replace("\\", "/") if re.match(r"[A-Za-z]:", word) else word
    if _PLAIN.fullmatch(word) and not (shell == "sh" and "\\" in word):
        return word
    if shell == "cmd":
        return f'"{word}"'
    inner = word.replace("'", "''" if shell == "powershell" else "'\\''")
    return f"'{inner}'"
