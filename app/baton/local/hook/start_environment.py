"""Reads the initial environment of the client above a hook, like `at_start` in `hooks/baton-lib.sh`.

Variables from a project's files (the `env` of `.claude/settings.json`, `.env`) are set later, so it has none of them.
"""

import os
import sys

from baton.local.hook.clients import CLIENTS

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh", "fish", "busybox"})
_OF_AGENTS = ("AI_AGENT=", *(mark for place in CLIENTS.values() for mark in place.marks))
"""Variables set by a client for its children: a client below inherits what a project set."""


def read(pid: int = 0) -> dict[str, str]:
    """Return the environment of the first client from a process upwards; {} if unknown, as on Windows.

    By default it looks from above this process.
    """
    if sys.platform == "win32":  # it shows a process's present environment, not the initial one
        return {}
    pid, client, client_name, found = pid or os.getppid(), 0, "", {}
    try:
        while pid > 0:
            parent, name = _look_at(pid)
            # Some clients restart themselves with the variables of a project's `.env`.
            if client and name != client_name and not _same_program(pid, client):
                found = _environment(client)
                client = 0
                if found:
                    break
            if not _is_shell(name):
                client, client_name = pid, name
            pid = parent
        return found or (_environment(client) if client else {})
    except (OSError, ValueError):
        return {}


def has_prompt() -> bool:
    """Return whether the client was started with a prompt (`-p`): it asks nobody then. On Windows nobody knows."""
    if sys.platform == "win32":
        return False
    try:
        pid = os.getppid()
        while _is_shell((found := _look_at(pid))[1]):
            pid = found[0]
        if os.path.exists("/proc/self/cmdline"):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                said = os.fsdecode(file.read()).replace("\0", " ")
        else:
            said = _ps("-o", "args=", "-p", str(pid))
    except (OSError, ValueError):
        return False
    return any(f" {word}" in f" {said} " for word in ("-p ", "--prompt ", "--prompt="))


def _is_shell(name: str) -> bool:
    return os.path.basename(name).lstrip("-") in _SHELLS


def _look_at(pid: int) -> tuple[int, str]:
    if os.path.exists("/proc/self/stat"):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            before, _, after = file.read().rpartition(") ")
        return int(after.split(" ")[1]), before.partition("(")[2]
    parent, _, name = _ps("-o", "ppid=", "-o", "comm=", "-p", str(pid)).strip().partition(" ")
    return int(parent), name


def _same_program(one: int, other: int) -> bool:
    try:
        return os.path.samefile(f"/proc/{one}/exe", f"/proc/{other}/exe")
    except OSError:
        return False


def _environment(pid: int) -> dict[str, str]:
    """Return a process's initial environment; {} if an agent's client has started it."""
    if os.path.exists("/proc/self/environ"):
        with open(f"/proc/{pid}/environ", "rb") as file:
            lines = os.fsdecode(file.read()).split("\0")
    else:
        lines = _ps("-Eww", "-o", "command=", "-p", str(pid)).split(" ")
    if any(line.startswith(_OF_AGENTS) for line in lines):
        return {}
    return {name: value for name, equals, value in (line.partition("=") for line in lines) if equals}


def _ps(*words: str) -> str:
    import subprocess

    return subprocess.run(["/bin/ps", *words], capture_output=True, text=True, check=False).stdout
