"""Inspects processes connected to the socket for people, in a thread and within limits."""

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

PERSON = b":person"  # the header with the verdict. Clients cannot send it: header names cannot contain colons.
PEER = "baton.peer"  # scope key of the task that inspects the peer process on the socket for people
PROVEN = b"a person's terminal"
MOST_WAITING = 64  # maximum number of waiting inspections. Further processes do not count as a person's.
REMEMBERED_S = 5.0  # how long a verdict is cached, in seconds
_MOST_REMEMBERED = 1_024
_REST = 4  # an inspection costs milliseconds. The thread rests this many times as long: at most a fifth of a processor.
_ENDED = b"the process has ended, or cannot be inspected"
_BUSY = b"too many processes connect at once; try again"

_LATE_TICKS = 2


def is_for_people(connection: socket.socket | None) -> bool:
    """Return whether a connection came over the socket for people."""
    return connection is not None and connection.family == socket.AF_UNIX


async def _nobody() -> Collection[ProcessId]:
    return ()


class PeerLooks:
    """One thread that inspects processes in turn, with a cache of recent verdicts."""

    def __init__(self) -> None:
        self.known_clients: Callable[[], Awaitable[Collection[ProcessId]]] = _nobody
        """Returns the known processes of agents' clients."""
        self.looks = 0  # number of inspections
        self._thread = ThreadPoolExecutor(1, "peers")
        self._waiting = 0
        self._found: OrderedDict[ProcessId, tuple[float, bytes]] = OrderedDict()

    async def verdict(self, connection: socket.socket) -> bytes:
        """Return `PROVEN`, or the reason why the peer process is not a person's."""
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
        if process.start > connected:  # the peer has ended and its process id was reused
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
    """Return the current time in units of `ProcessId.start`, rounded up."""
    if sys.platform == "linux":
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) + _LATE_TICKS
    return round((time.time() + 1) * 1e6)
