"""Which process is at the other end of the socket for people: one of a person's at a terminal, or of an agent.

docs/decisions/0015-a-persons-word.md has the reasons and what was measured.
"""

import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

import psutil

PERSON = b":person"
"""The header that tells an application what was found; a client cannot send it, as no header's name has a colon."""
PROVEN = b"a person's terminal"

_UCRED = struct.Struct("3i")
"""Linux's `struct ucred`: process, user and group."""
_MACOS_LEVEL, _MACOS_PEER_PID = 0, 2
"""macOS's SOL_LOCAL and LOCAL_PEERPID, which Python's `socket` does not name."""
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


def verdict(connection: socket.socket | None) -> bytes | None:
    """Return `PROVEN`, or why the peer is not taken for a person; None for a connection that is not the socket for people."""
    if connection is None or connection.family != socket.AF_UNIX:
        return None
    try:
        pid = _peer_of(connection)
        doubt = agent_above(pid) or ("" if _has_terminal(pid) else "it has no terminal")
        return doubt.encode("ascii", "replace") or PROVEN
    except (OSError, psutil.Error):
        return b"the process has ended, or cannot be looked at"


def _peer_of(connection: socket.socket) -> int:
    if sys.platform == "darwin":
        return struct.unpack("i", connection.getsockopt(_MACOS_LEVEL, _MACOS_PEER_PID, 4))[0]
    pid: int = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]
    return pid


def agent_above(pid: int) -> str:
    """Return how a process is known to be an agent's, "" if nothing tells.

    Raises:
        psutil.Error: If it has ended.
    """
    peer = psutil.Process(pid)
    above = peer.parents()
    if len(above) > _DEEPEST:
        return f"it has more than {_DEEPEST} processes above it"
    for process in [peer, *above]:
        where = f"process {process.pid}"
        if client := _client(process):
            return f"it descends from `{client}` ({where})"
        if variable := _variable(process):
            return f"`{variable}` is set in {where}, as an agent's client sets it"
    return ""


def _has_terminal(pid: int) -> bool:
    """Return whether a process has a controlling terminal; psutil remembers the machine's terminals, and knows no new one."""
    if sys.platform == "darwin":
        done = subprocess.run(["/bin/ps", "-o", "tty=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return done.stdout.strip() not in {"", "??"}
    # proc(5): the name in parentheses may hold spaces; `tty_nr` is the fifth field after it, 0 for none.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4] != "0"


def _client(process: psutil.Process) -> str:
    """Return the name by which a process is a client of agents, "" if it is none."""
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


def _variable(process: psutil.Process) -> str:
    try:
        return next((name for name in process.environ() if _OF_AGENTS.fullmatch(name)), "")
    except psutil.AccessDenied:
        return ""
