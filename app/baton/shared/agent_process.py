"""Distinguishes a person's processes at a terminal from an agent's (docs/decisions/0015-a-persons-word.md)."""

import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import psutil

from baton.clients.registry import SPECS

_DEEPEST = 64  # maximum number of ancestors of a person's process. Longer chains hide something or overload the server.
_PROGRAMS = "|".join(one.program or one.name for one in SPECS.values())
_CLIENTS = re.compile(
    rf"(({_PROGRAMS})(-code|-cli)?|cursor-cli|aider|goose|amp|crush|cline|roo|kilocode|continue|cn|droid|auggie|kiro-cli"
    r"|openhands|plandex|iflow|codebuddy|claude-agent-acp|codex-acp|acp-agent)(\.exe|\.cmd|\.js|\.mjs|\.cjs|\.py)?"
)  # programs that run agents, by the name of their file or of an interpreter's script
_PACKAGES = "|".join(one.package for one in SPECS.values() if one.package)
_PACKAGE = re.compile(rf"/({_PACKAGES}|@zed-industries/[a-z-]+-acp)(/|$)")  # the same by the script's package
_INTERPRETERS = re.compile(r"(node|nodejs|bun|deno|python[0-9.]*|pypy[0-9.]*|ruby|npx|tsx|uv|uvx)(\.exe)?")
_MARKS = "|".join(one.marks for one in SPECS.values())
_OF_AGENTS = re.compile(
    rf"{_MARKS}|AI_AGENT|CLINE_ACTIVE|GOOSE_TERMINAL|AMP_THREAD_ID|AUGMENT_AGENT|BATON_JOB"
)  # variables set by a client for its children. A process outside the client's tree keeps them.
_UCRED = struct.Struct("3i")  # Linux's `struct ucred`: process, user and group
_MACOS_LEVEL, _MACOS_PEER_PID = 0, 2  # macOS's SOL_LOCAL and LOCAL_PEERPID, missing in Python's `socket`
_TTY, _START = 4, 19  # fields of /proc/PID/stat after the name: terminal (0: none), start in ticks


class ProcessId(NamedTuple):
    """A process by its number and start: ticks since boot on Linux, microseconds since 1970 elsewhere."""

    pid: int
    start: int


def peer_pid(connection: socket.socket) -> int:
    """Return the peer's process id from the kernel. Raise OSError on failure."""
    if sys.platform == "darwin":
        macos: int = struct.unpack("i", connection.getsockopt(_MACOS_LEVEL, _MACOS_PEER_PID, 4))[0]
        return macos
    pid: int = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]
    return pid


def identify(pid: int) -> ProcessId:
    """Return the process with this number. Raise OSError or psutil.Error without one."""
    if sys.platform == "linux":
        return ProcessId(pid, int(_stat(pid)[_START]))
    return ProcessId(pid, round(psutil.Process(pid).create_time() * 1e6))


def doubt(pid: int, clients: Collection[ProcessId] = ()) -> str:
    """Return why a process is not a person's, or "". `clients` are known clients. Raise OSError or psutil.Error."""
    return agent_above(pid, clients) or ("" if terminal_of(pid) else "it has no terminal")


def agent_above(pid: int, clients: Collection[ProcessId] = ()) -> str:
    """Return why a process is an agent's, or "". Raise OSError or psutil.Error if it has ended."""
    peer = psutil.Process(pid)
    above = peer.parents()
    if len(above) > _DEEPEST:
        return f"it has more than {_DEEPEST} ancestors"
    known = {one.pid: one for one in clients}
    for process in [peer, *above]:
        where = f"process {process.pid}"
        if client := client_name(process):
            return f"it descends from `{client}` ({where})"
        if process.pid in known and identify(process.pid) == known[process.pid]:
            return f"it descends from `{process.name()}` ({where}), a client that runs hooks"
        if variable := _variable(process):
            return f"`{variable}` is set in {where}, as an agent's client sets it"
    return ""


def terminal_of(pid: int) -> str:
    """Return the number or name of a process's controlling terminal, or ""."""
    if sys.platform == "linux":
        # Not by psutil, which caches the machine's terminals and misses new ones.
        number = _stat(pid)[_TTY]
        return "" if number == "0" else number
    done = subprocess.run(["/bin/ps", "-o", "tty=", "-p", str(pid)], capture_output=True, text=True, check=False)
    name = done.stdout.strip()
    return "" if name == "??" else name


def client_name(process: psutil.Process) -> str:
    """Return the name of an agents' client, or "" for any other process."""
    try:
        words = process.cmdline()
        program = process.name()
    except psutil.AccessDenied:  # another user's, such as init: it runs no agent of this user
        return ""
    names = [program, *(word.rpartition("/")[2] for word in words[:1])]
    if _INTERPRETERS.fullmatch(names[-1]):
        # The script is the first word other than an option. An option's value is not a client either.
        names += [word.rpartition("/")[2] for word in words[1:4] if not word.startswith("-")]
    found = next((name for name in names if _CLIENTS.fullmatch(name.lower())), "")
    return found or next((match[1] for word in words[:4] if (match := _PACKAGE.search(word))), "")


def own_doubt() -> str:
    """Return why this process is not a person's, or ""."""
    try:
        return doubt(os.getpid())
    except (OSError, psutil.Error):
        return "it cannot be inspected"


def _stat(pid: int) -> list[str]:
    # proc(5): the name in parentheses may contain spaces.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _variable(process: psutil.Process) -> str:
    try:
        return next((name for name in process.environ() if _OF_AGENTS.fullmatch(name)), "")
    except psutil.AccessDenied:
        return ""
