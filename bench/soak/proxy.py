"""A TCP proxy that can be slow: every chunk, in both directions, arrives that much later. It reads no protocol."""

import asyncio
import contextlib
from typing import cast


class _Side(asyncio.Protocol):
    """One end of a connection; what arrives goes out at the other end."""

    def __init__(self, proxy: "Proxy") -> None:
        self._proxy = proxy
        self._early: list[bytes] = []
        self.peer: _Side | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self.peer is None:
            self._early.append(data)
        else:
            asyncio.get_running_loop().call_later(self._proxy.delay_s, self.peer.write, data)

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
        self._proxy.sides.discard(self)


class _Front(_Side):
    """The end that a client connected to."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._proxy.sides.add(self)
        self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, back = await loop.create_unix_connection(lambda: _Side(self._proxy), self._proxy.target)
        except OSError:
            cast("asyncio.Transport", self.transport).close()
            return
        self._proxy.sides.add(back)
        back.join(self)
        self.join(back)


class Proxy:
    """Listens on a free port of loopback and passes on to a unix socket."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.delay_s = 0.0
        """How much later each chunk arrives, in seconds."""
        self.sides: set[_Side] = set()
        self.port = 0

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.get_running_loop().create_server(lambda: _Front(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close every connection."""
        self._server.close()
        for side in list(self.sides):
            if side.transport is not None:
                side.transport.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await self._server.wait_closed()
