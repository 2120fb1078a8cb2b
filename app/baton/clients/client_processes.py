"""Which processes run hooks: they are clients of agents, whatever their program is called.

The shim names its own process at a session's start (`Baton-Shim`), and waits for the answer. What is above it is the client.
"""

import asyncio
import os
import time
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path

import psutil

from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.shared.agent_process import ProcessId, identify

SHIM = b"baton-shim"
"""The header with the number of the shim's process."""
MOST = 256
"""Processes that are remembered; the oldest give way."""
EXPIRES_S = 7 * 24 * 3_600
"""How long a client is remembered that does not start another session, in seconds."""
_LINES = ("baton-hook.sh", "baton hook ")
"""What a shell that runs a hook has in its words."""
_PROGRAM = ("baton", "baton.exe")
_KEY = b"baton:client-processes"
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "tcsh", "csh", "nu", "pwsh", "busybox"})
_NO_CLIENTS = _SHELLS | {
    "login", "su", "sudo", "doas", "tmux", "tmux: server", "screen", "zellij", "sshd", "systemd", "init", "launchd",
    "gnome-terminal-server", "konsole", "xterm", "kitty", "alacritty", "wezterm-gui", "foot", "Terminal", "iTerm2",
}  # fmt: skip
"""What people's terminals run in: such a process is never taken for a client, or a hook run by hand would lock them out."""


class ClientProcesses:
    """The clients of this machine: in memory, and in Redis for other workers and the next start."""

    def __init__(self, redis: Redis, *, has_socket: bool = True) -> None:
        self._redis = redis
        self._has_socket = has_socket  # a team's server looks at nobody: its clients are on other machines
        self._known: dict[ProcessId, float] = {}

    async def note(self, shim: bytes) -> None:
        """Remember the client above a shim, if that is a shim and waits for us. Nothing is believed but its number."""
        if not (self._has_socket and shim.isdigit() and len(shim) <= len("4194304")):
            return
        try:
            client = await asyncio.to_thread(_client_above, int(shim))
        except (OSError, psutil.Error):
            return
        if client is None:
            return
        self._known.pop(client, None)
        self._known[client] = time.time() + EXPIRES_S
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        member = f"{client.pid} {client.start}"
        self._redis.send(b"ZADD", _KEY, str(self._known[client]), member)
        self._redis.send(b"ZREMRANGEBYRANK", _KEY, b"0", str(-MOST - 1))
        self._redis.send(b"EXPIRE", _KEY, str(EXPIRES_S))

    async def find(self) -> Collection[ProcessId]:
        """Return the clients that were noted here, or by others where Redis can be asked."""
        now = time.time()
        known = {client for client, until in self._known.items() if until > now}
        try:
            for member in await self._redis.call(b"ZRANGEBYSCORE", _KEY, str(now), b"+inf"):
                pid, _, start = member.partition(b" ")
                known.add(ProcessId(int(pid), int(start)))
        except RedisUnavailable:
            pass
        return known


def _client_above(shim: int) -> ProcessId | None:
    """Return the client that has started a shim, None if that is no shim, or if a person's terminal has started it."""
    process = psutil.Process(shim)
    if not _runs_shim(process):
        return None
    client = process.parent()
    while client is not None and _runs_shim(client):  # the shell that the client runs the hook's line in
        client = client.parent()
    if client is None or client.pid <= 1 or client.name().lstrip("-") in _NO_CLIENTS:
        return None
    if client.pid == os.getpid() or client in psutil.Process().parents():
        return None
    return identify(client.pid)


def _runs_shim(process: psutil.Process) -> bool:
    # The name of the script alone is no sign: it may stand in a prompt that a client was started with.
    words = process.cmdline()
    if process.name() in _SHELLS:
        return any(line in word for word in words for line in _LINES)
    # `baton hook`, behind the interpreter or not.
    return any(Path(word).name in _PROGRAM and after == "hook" for word, after in pairwise(words[:4]))
