"""How a client starts the shim: the line for each kind of shim, quoted for the shell that the client reads lines with."""

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

ShimKind = Literal["sh", "python", "powershell"]
"""`sh` is `hooks/baton-hook.sh`, `python` is `baton hook`, `powershell` is `hooks/baton-hook.ps1`."""
Shell = Literal["sh", "cmd", "powershell"]
SHELLS: Mapping[str, Shell] = {
    "codex": "powershell",
    "copilot-cli": "powershell",
    "cursor": "powershell",
    "gemini": "powershell",
    "continue": "cmd",
    "opencode": "cmd",
    "qwen": "cmd",
}
"""What each client reads a line with on Windows; Claude Code takes Git Bash, and PowerShell where there is none."""
_PLAIN = re.compile(r"[\w@%+=:,./\\-]+", re.ASCII)


class Shim(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of shim, and where it is: the path of the script, or of the program `baton`.

    A `path` of "" is `baton` by the search path, which needs no quotes in any shell.
    """

    kind: ShimKind
    path: str = ""
    windows: bool = False


def default_kind() -> ShimKind:
    """Return the kind of shim that this system can run."""
    return "python" if sys.platform == "win32" else "sh"


def find_program(env: Mapping[str, str]) -> str:
    """Return the path of `baton`, "" if the search path has it or nothing is found."""
    if shutil.which("baton", path=env.get("PATH")):
        return ""
    beside = [Path(sys.executable).with_name(name) for name in ("baton.exe", "baton")]
    return next((str(path) for path in beside if path.is_file()), "")


def shell_of(client: str, shim: Shim) -> Shell:
    """Return the shell that a client reads a line with on this system."""
    if not shim.windows:
        return "sh"
    return SHELLS.get(client) or ("sh" if shutil.which("bash") else "powershell")


def line(shim: Shim, client: str, event: str, *, block: bool, must: bool, missing: dict[str, Any]) -> str:
    """Return the line that asks about an event.

    With `must` a call is refused where the shim itself is missing; otherwise it goes on, and `missing` is answered at a
    session's start. Which shell reads a line on Windows is known of Copilot CLI only, so there alone it holds that.
    """
    shell = shell_of(client, shim)
    start = _start(shim, shell)
    call = f"{start} {client} {event}" + (" block" if block else "")
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
    if shim.kind == "powershell":
        return "powershell" if shim.windows else "pwsh"
    return quote(shim.path or "baton", shell)


def _start(shim: Shim, shell: Shell) -> str:
    program = _program(shim, shell)
    if shim.kind == "powershell":
        return f"{program} -NoProfile -ExecutionPolicy Bypass -File {quote(shim.path, shell)}"
    before = {"powershell": "& ", "cmd": "call "}.get(shell, "") if program[:1] in {"'", '"'} else ""
    return f"{before}{program} hook"


def quote(word: str, shell: Shell) -> str:
    """Quote a path for a shell, where it needs quotes. Git Bash knows a path of Windows with `/` alone."""
    if shell == "sh":
        word = word.replace("\\", "/") if re.match(r"[A-Za-z]:", word) else word
    if _PLAIN.fullmatch(word) and not (shell == "sh" and "\\" in word):
        return word
    if shell == "cmd":
        return f'"{word}"'
    inner = word.replace("'", "''" if shell == "powershell" else "'\\''")
    return f"'{inner}'"
