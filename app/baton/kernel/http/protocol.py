"""The HTTP protocol of the server: uvicorn's own, with whole answers in one write and a deadline.

uvicorn writes an answer's head and body apart; each write is a system call that wakes the client.
"""

import asyncio
import re
from operator import itemgetter
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from baton.kernel.base.errors import BatonError
from baton.kernel.http.asgi import WHOLE, Headers, Scope, problem_response

_UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header's value may hold."""
_value = itemgetter(1)


class OneWrite:
    """A transport that gathers what is written within one tick of the loop, and sends it at the tick's end.

    The answers of a tick then leave together, which wakes a client that waits for several of them once.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pending: list[bytes] = []
        self.is_closing = transport.is_closing  # asked for at every answer

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
    """One connection of a client. One whose request does not arrive in time is closed; uvicorn itself waits for ever."""

    receive_s = 10.0
    """Longest that a request may take to arrive, from the connection or its first byte to its last, in seconds."""

    _begun: float | None = None
    _deadline: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Take the connection over."""
        super().connection_made(cast("asyncio.Transport", OneWrite(transport, self.loop)))
        self._extensions = {WHOLE: self.whole}
        self._begun = self.loop.time()
        self._deadline = self.loop.call_at(self._begun + self.receive_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop looking."""
        self._deadline.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Note when a request begins to arrive."""
        self._begun = self.loop.time()
        super().on_message_begin()
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item] # it knows the standard's only

    def on_message_complete(self) -> None:
        """Note that it has arrived whole; until the next begins, uvicorn's own limit on idle connections holds."""
        self._begun = None
        super().on_message_complete()

    def whole(self, scope: Scope, status: int, headers: Headers, body: bytes) -> bool:
        """Write a whole answer, or tell that it is not of the ordinary kind and must be sent in parts.

        `headers` name the body's length.
        """
        cycle = self.cycle
        if cycle.scope is not scope or cycle.response_started or cycle.disconnected or not cycle.keep_alive:
            return False
        if scope["method"] == "HEAD" or cycle.flow.write_paused:
            return False
        if _UNFIT.search(b"".join(map(_value, headers))):
            return False
        head = b"\r\n".join(map(b": ".join, (*cycle.default_headers, *headers)))
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self.transport.write(b"".join((STATUS_LINE[status], head, b"\r\n\r\n", body)))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the shape of every error."""
        refusal = problem_response(BatonError(msg[:1].lower() + msg[1:].rstrip(".")))
        headers = [
            *self.server_state.default_headers,
            (b"content-type", refusal.content_type),
            (b"content-length", b"%d" % len(refusal.body)),
            (b"connection", b"close"),
        ]
        head = b"\r\n".join(map(b": ".join, headers))
        self.transport.write(b"".join((STATUS_LINE[refusal.status], head, b"\r\n\r\n", refusal.body)))
        self.transport.close()

    def _look(self) -> None:
        now = self.loop.time()
        due = (now if self._begun is None else self._begun) + self.receive_s
        if due <= now:
            self.transport.close()
        else:
            self._deadline = self.loop.call_at(due, self._look)
