"""The processes that run hooks: clients of agents, whatever their program's name.

At session start and with prompts, the shim sends its process id (`Baton-Shim`) and waits. Its ancestor is the client.
"""

import asyncio
import os
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import msgspec
import psutil

from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.shared.agent_process import ProcessId, client_name, identify

SHIM = b"baton-shim"  # the header with the shim's process id
MOST = 256  # maximum number of remembered processes. The oldest are dropped.
EXPIRES_S = 7 * 24 * 3_600  # expiry of a client without another session start, in seconds
_LINES = ("baton-hook.sh", "baton hook ", "baton' hook ")  # parts of a shell's command line that runs a hook
_PROGRAM = ("baton", "baton.exe")
_KEY = b"{baton}:client-processes"
NOT_HEARD_S = 60  # seconds before a client without hook calls counts as silent
LOOK_EVERY_S = 10
_NO_SESSION = frozenset({"mcp", "mcp-server", "doctor", "update", "login", "--version", "--help"})
"""Arguments of a client that runs no agent."""
_NEVER = "no hook of it was heard: it has none, they are switched off or not trusted, or ask another server"
_GONE = "the shim of its hooks is missing"
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "tcsh", "csh", "nu", "pwsh", "busybox"})
_NO_CLIENTS = _SHELLS | {
    "login", "su", "sudo", "doas", "tmux", "tmux: server", "screen", "zellij", "sshd", "systemd", "init", "launchd",
    "gnome-terminal-server", "konsole", "xterm", "kitty", "alacritty", "wezterm-gui", "foot", "Terminal", "iTerm2",
}  # fmt: skip
"""Programs of people's terminals, never taken for a client: a hook run by hand would lock people out."""


class UncheckedClient(msgspec.Struct, frozen=True, kw_only=True):
    """A client on the server's machine without hooks to this server, and the reason."""

    client: str
    pid: int
    started_at: datetime
    why: str


class ClientProcesses:
    """The clients of this machine: in memory, and in Redis for other workers and restarts."""

    def __init__(self, redis: Redis, *, has_socket: bool = True) -> None:
        self._redis = redis
        self._has_socket = has_socket  # a team's server inspects nobody: its clients are on other machines
        self._known: dict[ProcessId, tuple[float, str]] = {}
        self._seen: tuple[float, list[UncheckedClient]] = (0, [])

    async def remember(self, shim: bytes) -> None:
        """Remember the client above a shim, if it really is a waiting shim. Only its process id is trusted."""
        if not (self._has_socket and shim.isdigit() and len(shim) <= len("4194304")):
            return
        try:
            client, script = await asyncio.to_thread(_client_above, int(shim))
        except (OSError, psutil.Error):
            return
        if client is None:
            return
        self._known.pop(client, None)
        self._known[client] = (time.time() + EXPIRES_S, script)
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        member = f"{client.pid} {client.start} {script}"
        self._redis.send(b"ZADD", _KEY, str(self._known[client][0]), member)
        self._redis.send(b"ZREMRANGEBYRANK", _KEY, b"0", str(-MOST - 1))
        self._redis.send(b"EXPIRE", _KEY, str(EXPIRES_S))

    async def known(self) -> Collection[ProcessId]:
        """Return the known clients, including other workers' from Redis."""
        return (await self._scripts()).keys()

    async def unchecked(self) -> list[UncheckedClient]:
        """List this machine's clients without working hooks; [] on a server for other machines."""
        if self._has_socket and time.monotonic() > self._seen[0]:
            known = await self._scripts()
            self._seen = (time.monotonic() + LOOK_EVERY_S, await asyncio.to_thread(_unchecked, known))
        return self._seen[1]

    async def _scripts(self) -> dict[ProcessId, str]:
        now = time.time()
        known = {client: script for client, (until, script) in self._known.items() if until > now}
        try:
            for member in await self._redis.call(b"ZRANGEBYSCORE", _KEY, str(now), b"+inf"):
                pid, start, *script = os.fsdecode(member).split(" ", 2)
                known.setdefault(ProcessId(int(pid), int(start)), "".join(script))
        except RedisUnavailable:
            pass
        return known


def _unchecked(known: Mapping[ProcessId, str]) -> list[UncheckedClient]:
    found = []
    scripts = {client.pid: script for client, script in known.items() if _lives(client)}
    for process in psutil.process_iter():
        try:
            if process.uids().real != os.getuid() or not (name := client_name(process)):
                continue
            age = time.time() - process.create_time()
            above = process.parent()
            if age < NOT_HEARD_S or (above and client_name(above)) or _NO_SESSION & set(process.cmdline()[1:4]):
                continue
            ran = [scripts[one.pid] for one in (process, *process.children(recursive=True)) if one.pid in scripts]
            why = _NEVER if not ran else "" if any(not one or Path(one).exists() for one in ran) else _GONE
        except (OSError, psutil.Error):  # it has just ended
            continue
        if why:
            started = datetime.fromtimestamp(process.create_time(), UTC)
            found.append(UncheckedClient(client=name, pid=process.pid, started_at=started, why=why))
    return found


def _lives(client: ProcessId) -> bool:
    try:
        return identify(client.pid) == client
    except (OSError, psutil.Error):
        return False


def _client_above(shim: int) -> tuple[ProcessId | None, str]:
    """Return a shim's client and file. The client is None for another program, or if started from a terminal."""
    process = psutil.Process(shim)
    if not _runs_shim(process):
        return None, ""
    script = next((word for word in process.cmdline() if Path(word).name in {"baton-hook.sh", *_PROGRAM}), "")
    script = script if Path(script).is_absolute() else ""
    client = process.parent()
    while client is not None and _runs_shim(client):  # the shell that runs the client's hook command
        client = client.parent()
    if client is None or client.pid <= 1 or client.name().lstrip("-") in _NO_CLIENTS:
        return None, script
    if client.pid == os.getpid() or client in psutil.Process().parents():
        return None, script
    return identify(client.pid), script


def _runs_shim(process: psutil.Process) -> bool:
    # The script's name alone proves nothing: it may be part of a client's prompt.
    words = process.cmdline()
    if process.name() in _SHELLS:
        return any(line in word for word in words for line in _LINES)
    # `baton hook`, with or without an interpreter.
    return any(Path(word).name in _PROGRAM and after == "hook" for word, after in pairwise(words[:4]))
