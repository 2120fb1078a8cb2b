"""Looks at the processes that connect to the socket for people, away from the loop, and within bounds."""

import asyncio
import os
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor

import psutil

from baton.shared.agent_process import ProcessId, doubt, identify, peer_pid

PERSON = b":person"
"""The header that tells an application what was found; a client cannot send it, as no header's name has a colon."""
PROVEN = b"a person's terminal"
MOST_WAITING = 64
"""Processes that wait to be looked at; of more nothing is known, and they are not taken for a person's."""
REMEMBERED_S = 5.0
"""How long it is remembered what was found of a process."""
_MOST_REMEMBERED = 1_024
_REST = 4
"""A look costs milliseconds. The thread rests this many times as long, so that many take a fifth of a processor at most."""
_ENDED = b"the process has ended, or cannot be looked at"
_BUSY = b"too many processes connect at once; try again"

_LATE_TICKS = 2


def is_for_people(connection: socket.socket | None) -> bool:
    """Return whether a connection came over the socket for people."""
    return connection is not None and connection.family == socket.AF_UNIX


async def _nobody() -> Collection[ProcessId]:
    return ()


class PeerLooks:
    """One thread that looks at processes, one after the other, and what it found of them a moment ago."""

    def __init__(self) -> None:
        self.known_clients: Callable[[], Awaitable[Collection[ProcessId]]] = _nobody
        """Returns the processes that are known to be clients of agents."""
        self.looks = 0
        """How many processes were looked at."""
        self._thread = ThreadPoolExecutor(1, "peers")
        self._waiting = 0
        self._found: OrderedDict[ProcessId, tuple[float, bytes]] = OrderedDict()

    async def verdict(self, connection: socket.socket) -> bytes:
        """Return `PROVEN`, or why the process at the other end is not taken for a person's."""
        if self._waiting >= MOST_WAITING:
            return _BUSY
        self._waiting += 1
        try:
            pid, connected = peer_pid(connection), _now_ticks()
            clients = await self.known_clients()
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._look, pid, connected, clients)
        except (OSError, psutil.Error):
            return _ENDED
        finally:
            self._waiting -= 1

    def _look(self, pid: int, connected: int, clients: Collection[ProcessId]) -> bytes:
        process = identify(pid)
        if process.start > connected:  # the one that connected has ended, and another has its number
            return _ENDED
        began = time.monotonic()
        known = self._found.get(process)
        if known is not None and known[0] > began:
            return known[1]
        self.looks += 1
        found = doubt(pid, clients).encode("ascii", "replace") or PROVEN
        self._found[process] = (began + REMEMBERED_S, found)
        if len(self._found) > _MOST_REMEMBERED:
            self._found.popitem(last=False)
        if self._waiting > 1:
            time.sleep(_REST * (time.monotonic() - began))
        return found


def _now_ticks() -> int:
    """Return the moment, in the unit of `ProcessId.start`, and a little more, since starts are rounded."""
    if sys.platform == "linux":
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) + _LATE_TICKS
    return round((time.time() + 1) * 1e6)
