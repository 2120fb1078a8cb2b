"""Whether a process is one of a person's at a terminal, or of an agent. Server and command line look in the same way.

docs/decisions/0015-a-persons-word.md has the reasons and what was measured.
"""

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

_DEEPEST = 64
"""Most ancestors of a person's process: a longer chain is made to hide something, or to keep the server busy."""
_CLIENTS = re.compile(
    r"(claude|claude-code|codex|gemini|gemini-cli|qwen|qwen-code|copilot|opencode|cursor-agent|cursor-cli|aider|goose"
    r"|amp|crush|cline|roo|kilocode|continue|cn|droid|auggie|kiro-cli|openhands|plandex|iflow|codebuddy|claude-agent-acp"
    r"|codex-acp|acp-agent)(\.exe|\.cmd|\.js|\.mjs|\.cjs|\.py)?"
)
"""Programs that run agents, by the name of their file, or of the script that an interpreter was given."""
_PACKAGES = re.compile(
    r"/(@anthropic-ai/claude-code|@openai/codex|@google/gemini-cli|@qwen-code/qwen-code|@github/copilot|opencode-ai"
    r"|@zed-industries/[a-z-]+-acp)(/|$)"
)
"""The same by the package that a script lies in, whatever its own name is."""
_INTERPRETERS = re.compile(r"(node|nodejs|bun|deno|python[0-9.]*|pypy[0-9.]*|ruby|npx|tsx|uv|uvx)(\.exe)?")
_OF_AGENTS = re.compile(
    r"CLAUDECODE|CLAUDE_CODE_(ENTRYPOINT|SESSION_ID|SSE_PORT)|CLAUDE_PID|AI_AGENT|CODEX_(SANDBOX|THREAD_ID|CI).*|GEMINI_CLI"
    r"|QWEN_CODE|OPENCODE(_PID|_CALLER|_CLIENT)?|COPILOT_(CLI|AGENT_SESSION_ID)|CURSOR_(AGENT|CLI)|CLINE_ACTIVE"
    r"|GOOSE_TERMINAL|AMP_THREAD_ID|AUGMENT_AGENT|BATON_JOB"
)
"""Variables that a client sets for what it starts; a process keeps them when it leaves the client's tree."""
_UCRED = struct.Struct("3i")
"""Linux's `struct ucred`: process, user and group."""
_MACOS_LEVEL, _MACOS_PEER_PID = 0, 2
"""macOS's SOL_LOCAL and LOCAL_PEERPID, which Python's `socket` does not name."""
_TTY, _START = 4, 19
"""Fields of Linux's /proc/PID/stat behind the program's name: the terminal, 0 for none; ticks from the boot to its start."""


class ProcessId(NamedTuple):
    """A process by its number and its start, since numbers are used again.

    `start` is in ticks since the boot on Linux, in microseconds since 1970 elsewhere.
    """

    pid: int
    start: int


def peer_pid(connection: socket.socket) -> int:
    """Return which process has connected, as the kernel tells it. Raise OSError if it cannot."""
    if sys.platform == "darwin":
        macos: int = struct.unpack("i", connection.getsockopt(_MACOS_LEVEL, _MACOS_PEER_PID, 4))[0]
        return macos
    pid: int = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]
    return pid


def identify(pid: int) -> ProcessId:
    """Return which process has a number now. Raise OSError or psutil.Error if none has."""
    if sys.platform == "linux":
        return ProcessId(pid, int(_stat(pid)[_START]))
    return ProcessId(pid, round(psutil.Process(pid).create_time() * 1e6))


def doubt(pid: int, clients: Collection[ProcessId] = ()) -> str:
    """Return why a process is not taken for a person's, "" if it is one.

    Args:
        pid: The process.
        clients: Processes that are known to be clients of agents, whatever they are called.

    Raises:
        OSError: If it has ended.
        psutil.Error: The same, or it cannot be looked at.
    """
    return agent_above(pid, clients) or ("" if terminal_of(pid) else "it has no terminal")


def agent_above(pid: int, clients: Collection[ProcessId] = ()) -> str:
    """Return how a process is known to be an agent's, "" if nothing tells.

    Raises:
        OSError: If it has ended.
        psutil.Error: The same.
    """
    peer = psutil.Process(pid)
    above = peer.parents()
    if len(above) > _DEEPEST:
        return f"it has more than {_DEEPEST} processes above it"
    known = {one.pid: one for one in clients}
    for process in [peer, *above]:
        where = f"process {process.pid}"
        if client := client_name(process):
            return f"it descends from `{client}` ({where})"
        if process.pid in known and identify(process.pid) == known[process.pid]:
            return f"it descends from `{process.name()}` ({where}), which runs hooks as an agent's client"
        if variable := _variable(process):
            return f"`{variable}` is set in {where}, as an agent's client sets it"
    return ""


def terminal_of(pid: int) -> str:
    """Return the controlling terminal of a process by its number or name, "" for none."""
    if sys.platform == "linux":
        # Not by psutil, which remembers the machine's terminals and knows no new one.
        number = _stat(pid)[_TTY]
        return "" if number == "0" else number
    done = subprocess.run(["/bin/ps", "-o", "tty=", "-p", str(pid)], capture_output=True, text=True, check=False)
    name = done.stdout.strip()
    return "" if name == "??" else name


def client_name(process: psutil.Process) -> str:
    """Return the name by which a process is a client of agents, "" for any other process."""
    try:
        words = process.cmdline()
        program = process.name()
    except psutil.AccessDenied:  # another user's, such as init's: none that an agent of this user runs in
        return ""
    names = [program, *(word.rpartition("/")[2] for word in words[:1])]
    if _INTERPRETERS.fullmatch(names[-1]):
        # The script is the first word that is no option; what an option takes is not told apart, and is no client either.
        names += [word.rpartition("/")[2] for word in words[1:4] if not word.startswith("-")]
    found = next((name for name in names if _CLIENTS.fullmatch(name.lower())), "")
    return found or next((match[1] for word in words[:4] if (match := _PACKAGES.search(word))), "")


def own_doubt() -> str:
    """Return why this very process is not taken for a person's, "" if it is one."""
    try:
        return doubt(os.getpid())
    except (OSError, psutil.Error):
        return "it cannot be looked at"


def _stat(pid: int) -> list[str]:
    # proc(5): the name in parentheses may hold spaces.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _variable(process: psutil.Process) -> str:
    try:
        return next((name for name in process.environ() if _OF_AGENTS.fullmatch(name)), "")
    except psutil.AccessDenied:
        return ""
