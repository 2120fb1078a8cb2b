"""Sends requests to the server over kept-alive connections, each within its time."""

import contextlib
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from baton.local.hook.request import NoAnswerError, Url, lines_of, reach, trusted
from baton.relay.wire import Fields, Stream, WireAnswer, WireError, field

if TYPE_CHECKING:
    import ssl

KEPT_S = 45.0
"""Seconds after which an unused connection is left: a router may have forgotten it, and a slept machine's peer has."""
_WITHOUT_BODY = frozenset({204, 304})

Send = Callable[[str, str, bytes, Fields, float], WireAnswer]
"""Sends method, target, body and headers within some seconds. Raises OSError without an answer."""


class Upstream:
    """The connections to one server."""

    def __init__(self, url: str, ca_file: str) -> None:
        self._url, self._ca_file = Url(url), ca_file
        self._kept: deque[tuple[Stream, float]] = deque()
        self._context: ssl.SSLContext | None = None

    def send(self, method: str, target: str, body: bytes, fields: Fields, seconds: float) -> WireAnswer:
        """Send a request and return the answer. Raise OSError without one."""
        until = time.monotonic() + seconds
        try:
            line, own = lines_of(self._url, method, target)
        except NoAnswerError as error:
            raise WireError(str(error)) from None
        named = {name.lower() for name, _ in fields}
        fields = [*((name, value) for name, value in own if name.lower() not in named), *fields]
        while True:
            kept = self._take()
            stream = kept or Stream(self._connect(until))
            try:
                stream.send(line, fields, body, until)
                answer, is_kept = _answer(stream, until)
            except OSError as error:
                stream.connection.close()
                if kept is None or isinstance(error, TimeoutError):
                    raise
                continue  # the server closed it while it was idle
            if is_kept:
                self._kept.append((stream, time.time()))
            else:
                stream.connection.close()
            return answer

    def _take(self) -> Stream | None:
        """Return the connection that was used last, None without one."""
        with contextlib.suppress(IndexError):
            while True:
                stream, since = self._kept.pop()
                if 0 <= time.time() - since < KEPT_S and not _has_input(stream):
                    return stream
                stream.connection.close()
        return None

    def _connect(self, until: float) -> Any:
        """Return a new connection. It is made beside: nothing ends the search for a name."""
        found: list[Any] = []
        done = threading.Event()

        def work() -> None:
            try:
                connection = reach(self._url, until - time.monotonic(), until, self._trusted)
                with contextlib.suppress(OSError):
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found.append(connection)
            except NoAnswerError as error:
                found.append(TimeoutError(str(error)) if error.hung else WireError(str(error)))
            except Exception as error:  # noqa: BLE001 - without a result the caller would wait for the whole time
                found.append(error)
            done.set()

        threading.Thread(target=work, daemon=True).start()
        if not done.wait(until - time.monotonic()):
            raise TimeoutError("the server cannot be reached in time")
        if isinstance(found[0], Exception):
            raise found[0] if isinstance(found[0], OSError) else WireError(str(found[0]))
        return found[0]

    def _trusted(self) -> "ssl.SSLContext":
        if self._context is None:
            self._context = trusted(self._ca_file)
        return self._context


def _has_input(stream: Stream) -> bool:
    """Return whether the server has closed an unused connection, or said something that nobody asked for."""
    looks = select.poll()
    looks.register(stream.connection, select.POLLIN)
    return bool(looks.poll(0))


def _answer(stream: Stream, until: float) -> tuple[WireAnswer, bool]:
    """Read an answer. Return whether the connection can be used again, too."""
    status = 100
    while status < 200:  # noqa: PLR2004 - those before are no answers
        first, fields = stream.head(until)
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
            raise WireError("the server does not speak HTTP")
        status = int(rest[:3])
    is_sized = bool(field(fields, "content-length") or field(fields, "transfer-encoding")) or status in _WITHOUT_BODY
    body = b"" if status in _WITHOUT_BODY else stream.body(fields, until, to_the_end=not is_sized)
    is_kept = is_sized and version == "HTTP/1.1" and field(fields, "connection").lower() != "close"
    return WireAnswer(status, fields, body), is_kept
