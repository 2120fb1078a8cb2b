"""The HTTP protocol of the server: uvicorn's own, with one write to the socket per answer. It changes no byte.

uvicorn writes an answer's head and body apart; each write is a system call that wakes the client.
"""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OneWrite:
    """A transport that gathers what is written within one tick of the loop."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pending: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        """Everything but writing and closing is the transport's own."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send the data with what else is written in this tick."""
        if not self._pending:
            self._loop.call_soon(self._flush)
        self._pending.append(data)

    def close(self) -> None:
        """Close when what was written has been sent."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._pending:
            data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
            self._pending.clear()
            self._transport.write(data)


class Protocol(HttpToolsProtocol):
    """One connection of a client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Take the connection over."""
        super().connection_made(cast("asyncio.Transport", OneWrite(transport, self.loop)))
