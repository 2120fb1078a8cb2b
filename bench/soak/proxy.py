"""A TCP proxy with a delay for every chunk, in both directions. It reads no protocol.

It is a separate process, `python -m bench.soak.proxy SOCKET`: within a busy load it would be slow by itself. Its port
goes to standard output; each line on standard input is the new delay, in seconds; at its end the proxy exits.
"""

import asyncio
import subprocess
import sys
from asyncio.subprocess import Process
from collections import deque
from typing import cast

import uvloop

START_S = 60.0
"""Timeout for it to listen, in seconds."""
_AT_ONCE_S = 0.001


class Proxy:
    """The proxy, from its user's view: listens on a free port of loopback and forwards to a unix socket."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._process: Process | None = None
        self.port = 0

    async def start(self) -> None:
        """Start it and wait until it listens."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.soak.proxy", self._target), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        async with asyncio.timeout(START_S):
            self.port = int(await cast("asyncio.StreamReader", self._process.stdout).readline())

    async def delay(self, seconds: float) -> None:
        """Set the delay of later chunks."""
        assert self._process is not None
        given = cast("asyncio.StreamWriter", self._process.stdin)
        given.write(f"{seconds}\n".encode())
        await given.drain()

    async def stop(self) -> None:
        """Close every connection."""
        if self._process is not None:
            cast("asyncio.StreamWriter", self._process.stdin).close()
            await self._process.wait()


class _Slowness:
    delay_s = 0.0


class _Side(asyncio.Protocol):
    """One end of a connection; its input goes to the other end, in order."""

    def __init__(self, slowness: _Slowness) -> None:
        self._slowness = slowness
        self._early: list[bytes] = []
        self._late: deque[tuple[float, bytes]] = deque()
        self.peer: _Side | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self.peer is None:
            self._early.append(data)
            return
        loop = asyncio.get_running_loop()
        if self._slowness.delay_s == 0 and not self._late:
            self.peer.write(data)
            return
        self._late.append((loop.time() + self._slowness.delay_s, data))
        if len(self._late) == 1:
            loop.call_at(self._late[0][0], self._pass_on)

    def _pass_on(self) -> None:
        loop, peer = asyncio.get_running_loop(), cast("_Side", self.peer)
        due = loop.time() + _AT_ONCE_S
        while self._late and self._late[0][0] <= due:
            peer.write(self._late.popleft()[1])
        if self._late:
            loop.call_at(self._late[0][0], self._pass_on)

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def join(self, peer: "_Side") -> None:
        self.peer = peer
        for data in self._early:
            self.data_received(data)

    def connection_lost(self, _error: Exception | None) -> None:
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.close()


class _Front(_Side):
    """The client's end."""

    def __init__(self, slowness: _Slowness, target: str) -> None:
        super().__init__(slowness)
        self._target = target

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, back = await loop.create_unix_connection(lambda: _Side(self._slowness), self._target)
        except OSError:
            cast("asyncio.Transport", self.transport).close()
            return
        back.join(self)
        self.join(back)


async def _run(target: str) -> None:
    loop, slowness, end = asyncio.get_running_loop(), _Slowness(), asyncio.Event()
    server = await loop.create_server(lambda: _Front(slowness, target), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)

    def told() -> None:
        line = sys.stdin.buffer.readline()
        if line:
            slowness.delay_s = float(line)
        else:
            end.set()

    loop.add_reader(0, told)
    await end.wait()


if __name__ == "__main__":
    uvloop.run(_run(sys.argv[1]))
