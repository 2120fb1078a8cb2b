"""uvicorn's HTTP protocol, with limits on incoming requests and without request smuggling.

uvicorn accepts heads of any size and waits for a request without a deadline. httptools ends a request with an `Upgrade`
header after its head, so its body would be answered as the connection's next request.
"""

import asyncio
from typing import ClassVar

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HEADER_VALUE_RE, STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from baton.kernel.base.errors import BatonError, HeadTooLarge, TooLarge
from baton.kernel.http.peer import PEER, PeerLooks, is_for_people
from baton.kernel.http.serving.hot_routes import WHOLE, Headers, head_of, problem_response

MAX_HEAD = 64 << 10  # maximum bytes of a head, and of a chunked body's framing (sizes, extensions, trailers)
MOST_HEADERS = 100  # maximum number of headers per request, and of trailers per body
MOST_PIPELINED = 100  # maximum number of pipelined requests per connection
LINGER_S = 1.0  # seconds until a refused connection is closed, so that the client can read the refusal
_PIECE = 16 << 10  # bytes parsed at a time: the parser's callbacks cannot stop it
_ONCE = (b"host", b"transfer-encoding")  # not repeatable. The parser itself refuses a second `Content-Length`.


class Protocol(HttpToolsProtocol):
    """One client connection."""

    receive_s = 10.0  # seconds for a request to arrive, from the connection or its first byte to its last
    peers: ClassVar[PeerLooks] = PeerLooks()
    most_connections = 10_000  # maximum number of open connections. A new one beyond it closes the longest idle one.

    _idle: ClassVar[dict["Protocol", None]] = {}  # connections without a request, the longest idle one first
    _deadline: asyncio.TimerHandle | None = None  # None while no request arrives: an idle connection costs nothing
    _begun: float | None = None  # start of the arriving request or connection. A timer each would cost more.
    _framing = 0  # bytes received outside content: the head, later the body's framing. Pieces are first counted whole.
    _in_body = False
    _refused = False
    _running: RequestResponseCycle | None = None  # the application's latest request. Later ones wait.
    _peer: asyncio.Task[bytes] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Start the deadline of the first request; inspect the peer on the socket for people."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if is_for_people(connection):
            self._peer = self.loop.create_task(self.peers.verdict(connection))
        self._begin()
        self._idle[self] = None
        if len(self.connections) > self.most_connections:
            # File descriptors are finite. Refusing new connections instead would let idle ones block everybody.
            oldest = next(iter(self._idle))
            del self._idle[oldest]
            oldest.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._idle.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data in pieces. Refuse a request as soon as it exceeds a limit."""
        self._unset_keepalive_if_required()
        for at in range(0, len(data), _PIECE):
            if not self._refused:  # data after a refused request is dropped
                self._parse(data[at : at + _PIECE])

    def _parse(self, piece: bytes) -> None:
        self._framing += len(piece)
        try:
            self.parser.feed_data(piece)
            if self._framing > MAX_HEAD or (self.headers and len(self.headers) > MOST_HEADERS):
                raise self._too_large()
        except httptools.HttpParserUpgrade as stop:
            # HTTP permits ignoring `Upgrade`, and Baton never upgrades: parse the head again without it.
            head, rest = self._head_without_upgrade(), piece[stop.args[0] :]
            self.parser = httptools.HttpRequestParser(self)  # the old one accepts nothing after `Connection: close`
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn has it
            self._framing = -len(rest)
            self._parse(head + rest)
        except (httptools.HttpParserError, BatonError) as error:
            why = error.__context__ if isinstance(error, httptools.HttpParserCallbackError) else error
            self._refuse(why if isinstance(why, BatonError) else BatonError("invalid HTTP request received"))

    def _head_without_upgrade(self) -> bytes:
        line = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        return b"\r\n".join([line, *(n + b": " + v for n, v in self.headers if n != b"upgrade"), b"", b""])

    def on_message_begin(self) -> None:
        """Start the deadline of a request."""
        super().on_message_begin()
        if self._peer is not None:
            self.scope[PEER] = self._peer  # type: ignore[literal-required] # ours
        self.scope[WHOLE] = self._write_whole  # type: ignore[literal-required] # ours
        self._begin()

    def _begin(self) -> None:
        self._begun = self.loop.time()
        if self._deadline is None:
            self._deadline = self.loop.call_at(self._begun + self.receive_s, self._check_deadline)

    def on_headers_complete(self) -> None:
        """Start the answer. Raise BatonError, which stops the parser, if the head is too large or ambiguous."""
        # A piece may include some of the body, so near the limit only the head itself counts.
        if len(self.headers) > MOST_HEADERS or (
            self._framing > MAX_HEAD and len(self.url) + sum(len(n) + len(v) + 4 for n, v in self.headers) > MAX_HEAD
        ):
            raise self._too_large()
        if len(self.pipeline) >= MOST_PIPELINED:
            raise BatonError(f"more than {MOST_PIPELINED} requests were sent ahead of their answers")
        self._check_framing()
        if self.parser.should_upgrade():  # the parser stops here, see `_parse`
            return
        super().on_headers_complete()
        if self.expect_100_continue:  # without `100 Continue`, the client may or may not send the body
            self.cycle.keep_alive = False
        self.headers = []  # trailers are not headers
        self._framing, self._in_body = 0, True

    def _check_framing(self) -> None:
        """Refuse requests that servers and proxies interpret differently, beyond the parser's checks."""
        headers, version = dict(self.headers), self.parser.get_http_version()
        if len(headers) < len(self.headers):
            names = [name for name, _ in self.headers]
            for name in _ONCE:
                if names.count(name) > 1:
                    raise BatonError(f"the request has more than one `{name.decode()}` header; send one")
        coding = headers.get(b"transfer-encoding")
        if coding is not None and (coding.lower() != b"chunked" or version != "1.1"):
            raise BatonError("`Transfer-Encoding` must be `chunked`, in a request of HTTP/1.1")
        if version not in {"1.1", "1.0"} or not self.url.startswith(b"/") or self.parser.get_method() == b"CONNECT":
            raise BatonError("Baton is not a proxy: send a path such as `/me`, with HTTP/1.1 or HTTP/1.0")

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _write_whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """Write the answer to the running request at once; return False if only uvicorn can send it."""
        cycle = self._running
        if cycle is None or cycle.response_started or cycle.disconnected or cycle.flow.write_paused:
            return False
        if cycle.scope["method"] == "HEAD" or HEADER_VALUE_RE.search(b"".join([value for _, value in headers])):
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self._write(status, headers, body, keep_alive=cycle.keep_alive)
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        return True

    def _write(self, status: int, headers: Headers, body: bytes, *, keep_alive: bool) -> None:
        ending = [] if keep_alive else [(b"connection", b"close")]
        head = b"\r\n".join(map(b": ".join, (*self.server_state.default_headers, *headers, *ending)))
        self.transport.write(b"".join((STATUS_LINE[status], head, b"\r\n\r\n", body)))

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._framing -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the deadline. uvicorn limits the idle connection."""
        if self.parser.should_upgrade():
            return
        self._begun = None
        self._framing, self._in_body = 0, False
        self._idle.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline:
            self._idle[self] = None

    def _check_deadline(self) -> None:
        self._deadline = None
        if self._begun is not None and self._begun + self.receive_s <= self.loop.time():
            self.transport.close()
        elif self._begun is not None:
            self._deadline = self.loop.call_at(self._begun + self.receive_s, self._check_deadline)

    def _too_large(self) -> BatonError:
        if self._in_body:
            return TooLarge(f"the body's chunks have more than {MAX_HEAD >> 10} KiB of framing; send `Content-Length`")
        return HeadTooLarge(
            f"the request's head is too large; at most {MOST_HEADERS} headers and {MAX_HEAD >> 10} KiB are allowed"
        )

    def _refuse(self, error: BatonError) -> None:
        """Answer with an error, drop further data, and close once the client could read the answer."""
        self._refused = True
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True  # it may be the refused request, and must not send another answer
            self._running.message_event.set()
            if self._running.response_started:  # a second head would be read as part of the started body
                self.transport.close()
                return
        refusal = problem_response(error)
        self._write(refusal.status, head_of(refusal), refusal.body, keep_alive=False)
        self.transport.write_eof()
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(LINGER_S, self.transport.close)
