"""The HTTP protocol of the server: uvicorn's own, with whole answers in one write, a deadline and limits while receiving.

uvicorn writes an answer's head and body apart; each write is a system call that wakes the client. It also takes heads of
any size, and reads a request for as long as the client cares to send it: one connection could then keep the loop, and
everybody who waits for it, busy for seconds.

A usual request to an endpoint that agents wait for is handed over without ASGI (`_hot_request`), which would cost a tenth of
a decision. Everything unusual about a request sends it the usual way, where it gets the same answer.
"""

import asyncio
import logging
import re
import socket
from operator import itemgetter
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from baton.kernel.base.errors import BatonError, HeadTooLarge, InternalError, TooLarge
from baton.kernel.http.asgi import WHOLE, Headers, Request, Scope, head_of, problem_response
from baton.kernel.http.peer import PERSON, PeerLooks, is_for_people
from baton.kernel.http.serving.hot_routes import HotFastAPI, HotRoute

MAX_HEAD = 64 << 10
"""Bytes of a request's head, and of what frames a chunked body (sizes, extensions, trailers), that are received."""
MOST_HEADERS = 100
"""Headers of one request, and trailers of one body."""
MOST_PIPELINED = 100
"""Requests that one connection may send ahead of their answers."""
LINGER_S = 1.0
"""How long a refused connection stays open, in seconds: closed at once, the client would not get to read the refusal."""
_PIECE, _BODY_PIECE = 16 << 10, 64 << 10
"""Bytes that the parser gets at a time: what it makes of more cannot be stopped. A body costs it next to nothing."""
MAX_HOT_BODY = 64 << 10
"""Bytes of a body that a request without ASGI may have: reading need not pause for it."""

_UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header's value may hold."""
_UNUSUAL = frozenset({b"cookie", b"expect", b"transfer-encoding", b"upgrade"})
"""Headers of requests that go the usual way."""
_value = itemgetter(1)

log = logging.getLogger(__name__)


class OneWrite:
    """A transport that gathers what is written within one tick of the loop, and sends it at the tick's end.

    The answers of a tick then leave together, which wakes a client that waits for several of them once.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pending: list[bytes] = []
        self._ended = False
        self.is_closing = transport.is_closing  # asked for at every answer

    def __getattr__(self, name: str) -> Any:
        """Everything but writing and closing is the transport's own."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send the data with what else is written in this tick; nothing is sent after the end."""
        if self._ended:
            return
        if not self._pending:
            self._loop.call_soon(self._flush)
        self._pending.append(data)

    def close(self) -> None:
        """Close when what was written has been sent."""
        self._flush()
        self._transport.close()

    def write_eof(self) -> None:
        """Close the sending side: nothing follows what was written."""
        self._flush()
        self._ended = True
        if not self.is_closing():
            self._transport.write_eof()

    def _flush(self) -> None:
        if self._pending:
            data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
            self._pending.clear()
            if not self.is_closing():  # the client may have gone since the data was written
                self._transport.write(data)


class HotCycle:
    """What uvicorn's protocol asks of the request that is being answered, for one without ASGI."""

    class message_event:  # noqa: N801 - uvicorn's name for it
        """Nobody waits for a part of the body."""

        set = staticmethod(lambda: None)

    def __init__(self, app: HotFastAPI, route: HotRoute, request: Request, *, keep_alive: bool) -> None:
        self.app = app
        self.route = route
        self.request = request
        """The request, still without its body."""
        self.body: list[bytes] = []
        self.keep_alive = keep_alive
        self.disconnected = False
        self.response_complete = False


class Protocol(HttpToolsProtocol):
    """One connection of a client. One whose request does not arrive in time is closed; uvicorn itself waits for ever."""

    receive_s = 10.0
    """Longest that a request may take to arrive, from the connection or its first byte to its last, in seconds."""
    peers: ClassVar[PeerLooks] = PeerLooks()
    most_connections = 10_000
    """Open connections above which the one that has waited longest without a request is closed for a new one."""

    _waiting: ClassVar[dict["Protocol", None]] = {}
    """The connections to which no answer is owed, the longest waiting first."""
    _begun: float | None = None
    _deadline: asyncio.TimerHandle
    _overhead = 0
    """Bytes received of the head, and later of the body's framing, that are not its content.

    It may fall below zero by a piece: a piece that holds the end of a head also holds the beginning of its body.
    """
    _in_body = False
    _refused = False
    _hot: HotCycle | None = None
    """The latest request, if it is answered without ASGI."""
    _person: bytes | None = None
    """On the socket for people: whether the process at its other end is a person's."""
    _early: list[bytes] | None = None
    """What has arrived on it while that is being looked at."""
    _peer: asyncio.Task[None]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Take the connection over."""
        super().connection_made(cast("asyncio.Transport", OneWrite(transport, self.loop)))
        self._address = self.client[0] if self.client else ""
        self._hot_app = self.app if isinstance(self.app, HotFastAPI) else None
        self._extensions = {WHOLE: self.whole}
        connection = transport.get_extra_info("socket")
        if is_for_people(connection):
            self._early = []
            self._peer = self.loop.create_task(self._look_at_peer(connection))
        self._begun = self.loop.time()
        self._deadline = self.loop.call_at(self._begun + self.receive_s, self._look)
        self._waiting[self] = None
        if len(self.connections) > self.most_connections:
            # File descriptors are finite. Refusing the new connection instead would let idle ones lock everybody out.
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop looking."""
        self._deadline.cancel()
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, piece by piece, and refuse the request as soon as it is too large."""
        if self._early is not None:
            self._early.append(data)
            self.transport.pause_reading()
            return
        size = len(data)
        if size <= _PIECE:
            self._piece(data, size)
            return
        at = 0
        while at < size and not self._refused:
            piece = data[at : at + (_BODY_PIECE if self._in_body else _PIECE)]
            at += len(piece)
            self._piece(piece, len(piece))

    async def _look_at_peer(self, connection: socket.socket) -> None:
        self._person = await self.peers.verdict(connection)
        early, self._early = self._early or [], None
        if self.transport.is_closing():
            return
        if early:
            self.transport.resume_reading()
        for data in early:
            self.data_received(data)

    def _piece(self, data: bytes, size: int) -> None:
        if self._refused:  # what still arrives of a refused request is dropped
            return
        self._overhead += size
        super().data_received(data)
        # `headers` is None before the first request has begun.
        if self._overhead > MAX_HEAD or (self.headers and len(self.headers) > MOST_HEADERS):
            self._refuse(self._too_large())

    def on_message_begin(self) -> None:
        """Note when a request begins to arrive."""
        self._begun = self.loop.time()
        self.url = b""
        self.expect_100_continue = False
        self.headers = [] if self._person is None else [(PERSON, self._person)]

    def on_headers_complete(self) -> None:
        """Begin with the request, unless its head is too large.

        Raises:
            ValueError: If so, to stop the parser; the refusal has been sent.
        """
        # What was received may hold a part of the body, too, so that near the limit only the head itself tells.
        large = (
            self._overhead > MAX_HEAD and len(self.url) + sum(len(n) + len(v) + 4 for n, v in self.headers) > MAX_HEAD
        )
        if large or len(self.headers) > MOST_HEADERS or len(self.pipeline) >= MOST_PIPELINED:
            self._refuse(self._too_large())
            raise ValueError
        self._hot = self._hot_request()
        if self._hot is not None:
            self.cycle = cast("RequestResponseCycle", self._hot)
        else:
            self._begin_scope()
            super().on_headers_complete()
        self.headers = []  # trailers are no headers
        self._overhead, self._in_body = 0, True

    def _begin_scope(self) -> None:
        """Do what uvicorn does at the beginning of a request: only now is it known that it is wanted."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item] # it knows the standard's only

    def _hot_request(self) -> HotCycle | None:
        """Return a usual request to an endpoint that agents wait for; None for any other, which goes the usual way."""
        cycle, url, app = self.cycle, self.url, self._hot_app
        if app is None or (cycle is not None and not cycle.response_complete) or not url.isascii():
            return None
        if self.parser.get_method() != b"POST" or b"%" in url or b"#" in url:
            return None
        path, _, query = url.partition(b"?")
        name = path.decode()
        route = app.hot_route(name)
        if route is None:
            return None
        headers = dict(self.headers)
        if not _UNUSUAL.isdisjoint(headers):
            return None
        length = int(headers.get(b"content-length", b"0"))
        # A body that has not arrived yet goes the usual way, where who asks is refused before it comes.
        if length > min(MAX_HOT_BODY, route.max_body) or length > self._overhead:
            return None
        keep_alive = self.parser.should_keep_alive() and self.parser.get_http_version() != "1.0"
        return HotCycle(app, route, Request("POST", name, query, headers, b"", self._address), keep_alive=keep_alive)

    def on_body(self, body: bytes) -> None:
        """Hand a part of the body on."""
        self._overhead -= len(body)
        if self._hot is not None:
            self._hot.body.append(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that it has arrived whole; until the next begins, uvicorn's own limit on idle connections holds."""
        self._begun = None
        self._overhead, self._in_body = 0, False
        self._waiting.pop(self, None)
        if self._hot is not None:
            # A task, so that what an endpoint calls may use time limits; uvicorn waits for it when the server stops.
            task = self.loop.create_task(self._answer_hot(self._hot))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        else:
            super().on_message_complete()

    async def _answer_hot(self, cycle: HotCycle) -> None:
        request = cycle.request
        body = cycle.body[0] if len(cycle.body) == 1 else b"".join(cycle.body)
        try:
            response = await cycle.app.answer_hot(cycle.route, request.with_body(body))
        except Exception:
            log.exception("`%s` failed", request.path)
            response = problem_response(InternalError())
        if _UNFIT.search(b"".join(map(_value, response.headers))):
            log.error("`%s` failed: a header of its answer holds a control character", request.path)
            response = problem_response(InternalError())
        if self.flow.write_paused:
            await self.flow.drain()
        cycle.response_complete = True
        if cycle.disconnected:
            return
        self._write(response.status, head_of(response), response.body, keep_alive=cycle.keep_alive)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _write(self, status: int, headers: Headers, body: bytes, *, keep_alive: bool) -> None:
        """Write an answer in one piece."""
        if not keep_alive:
            headers = [*headers, (b"connection", b"close")]
        head = b"\r\n".join(map(b": ".join, (*self.server_state.default_headers, *headers)))
        self.transport.write(b"".join((STATUS_LINE[status], head, b"\r\n\r\n", body)))

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline:
            self._waiting[self] = None

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
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self._write(status, headers, body, keep_alive=True)
        cycle.message_event.set()
        cycle.on_response()
        return True

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the shape of every error."""
        self._refuse(BatonError(msg[:1].lower() + msg[1:].rstrip(".")))

    def _too_large(self) -> BatonError:
        if self._in_body:
            return TooLarge(f"the body's chunks have more than {MAX_HEAD >> 10} KiB of framing; send `Content-Length`")
        if len(self.pipeline) >= MOST_PIPELINED:
            return BatonError(f"more than {MOST_PIPELINED} requests were sent ahead of their answers")
        return HeadTooLarge(
            f"the request's head is too large; at most {MOST_HEADERS} headers and {MAX_HEAD >> 10} KiB are allowed"
        )

    def _refuse(self, error: BatonError) -> None:
        """Answer with an error, drop what still arrives, and close when the client could read the answer."""
        if self._refused:
            return
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # nobody waits for the answer to what came before
            self.cycle.message_event.set()
        refusal = problem_response(error)
        self._write(refusal.status, head_of(refusal), refusal.body, keep_alive=False)
        self.transport.write_eof()
        self._deadline.cancel()
        self._deadline = self.loop.call_later(LINGER_S, self.transport.close)

    def _look(self) -> None:
        now = self.loop.time()
        due = (now if self._begun is None else self._begun) + self.receive_s
        if due <= now:
            self.transport.close()
        else:
            self._deadline = self.loop.call_at(due, self._look)
