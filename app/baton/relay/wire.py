"""HTTP/1.1 over plain sockets, for both ends of the relay: importing `http.server` and `http.client` takes 60 ms.

A `Listener` gives each connection a thread, and limits threads, waiting times and bytes, whatever its peers do.
"""

import contextlib
import socket
import threading
import time
from typing import Any, NamedTuple, Protocol

Fields = list[tuple[str, str]]
"""The headers of a message, in order, as Latin-1."""
LARGEST = 32 << 20
"""Bytes of a body, as the server has it. Of a larger one the first byte too much is kept: the server must refuse it."""
MOST = 100
"""Connections of a listener, each with its thread. A further one ends the oldest without a request."""
READ_S = 5.0
"""Seconds for a request to arrive, and for an answer to leave. A kept connection may wait for its next request."""
_HEAD, _SMALL, _ROOM = 64 << 10, 64 << 10, 100 << 20
"""Bytes of a head, of a body that needs no room, and of the room for the bodies of all requests at once."""
_SPARE = 4
"""Threads that stay to wait for a connection."""


class WireError(ConnectionError):
    """The peer does not speak HTTP, or broke off."""


class Incoming(NamedTuple):
    """A request that has arrived."""

    method: str
    target: str
    fields: Fields
    body: bytes

    def field(self, name: str) -> str:
        """Return a header's value, "" without it. The name is in lower case."""
        return field(self.fields, name)


class WireAnswer(NamedTuple):
    """A status, its headers, the content, and a reason in place of the usual one."""

    status: int
    fields: Fields
    body: bytes
    reason: str = ""


class Desk(Protocol):
    """What a listener serves."""

    def meets(self, connection: socket.socket, address: Any) -> object | None:
        """Return what is known of a new connection's peer, None to refuse it."""

    def admits(self, peer: Any, request: Incoming) -> int:
        """Return 0, or the status that refuses a request. Its body has not arrived yet."""

    def answers(self, peer: Any, request: Incoming) -> WireAnswer:
        """Answer a request."""


class Room:
    """The bytes of large bodies that may be held at once."""

    def __init__(self, most: int) -> None:
        self._left, self._changing = most, threading.Lock()

    def take(self, size: int) -> None:
        """Take bytes; a negative size gives them back. Raise WireError without room."""
        with self._changing:
            if size > self._left:
                raise WireError("too many large requests at once")
            self._left -= size


class Stream:
    """Messages on a connection. Every wait is until a time of `time.monotonic`; TimeoutError is raised after it."""

    def __init__(self, connection: Any, room: Room | None = None) -> None:
        self.connection, self._rest, self._room, self.taken = connection, b"", room, 0

    def wait(self, until: float | None) -> bool:
        """Wait for the next message. Return whether one begins; otherwise the peer has closed the connection."""
        if not self._rest:
            self.connection.settimeout(None if until is None else _left(until))
            self._rest = self.connection.recv(_HEAD)
        return bool(self._rest)

    def head(self, until: float) -> tuple[str, Fields]:
        """Read the first line and the headers of a message."""
        while (end := self._rest.find(b"\r\n\r\n")) < 0:
            if len(self._rest) > _HEAD:
                raise WireError("the head is too long")
            self._rest += self._more(until)
        first, *lines = self._rest[:end].decode("latin-1").split("\r\n")
        self._rest = self._rest[end + 4 :]
        fields: Fields = []
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name.isascii() or not name.isprintable() or " " in name or set(value) & set("\r\n\0"):
                raise WireError("a header is malformed")
            fields.append((name, value.strip(" \t")))
        return first, fields

    def body(self, fields: Fields, until: float, *, to_the_end: bool = False) -> bytes:
        """Read the body that the headers announce. Without any, `to_the_end` reads all that comes."""
        sizes, codings = ([value for name, value in fields if name.lower() == one] for one in _FRAMING)
        if codings:
            if sizes or [one.lower() for one in codings] != ["chunked"]:
                raise WireError("the body's size is ambiguous")
            return self._chunks(until)
        if sizes:
            if len(sizes) > 1 or not (sizes[0].isascii() and sizes[0].isdecimal()):
                raise WireError("the body's size is malformed")
            return self._part(int(sizes[0]), 0, until)
        parts = []
        while to_the_end and self.wait(until):
            parts.append(self._rest)
            self._rest = b""
        return b"".join(parts)

    def send(self, first: str, fields: Fields, body: bytes, until: float) -> None:
        """Send a message; its size is added."""
        lines = [first, *(f"{name}: {value}" for name, value in fields), f"Content-Length: {len(body)}", "", ""]
        head = "\r\n".join(lines).encode("latin-1")
        self.connection.settimeout(_left(until))
        if len(body) > _SMALL:
            self.connection.sendall(head)
            self.connection.sendall(body)
        else:
            self.connection.sendall(head + body)

    def end(self) -> None:
        """Give back the room of the last body."""
        if self._room is not None and self.taken:
            self._room.take(-self.taken)
            self.taken = 0

    def _more(self, until: float) -> bytes:
        self.connection.settimeout(_left(until))
        part: bytes = self.connection.recv(_HEAD)
        if not part:
            raise WireError("the peer broke off")
        return part

    def _part(self, size: int, before: int, until: float) -> bytes:
        """Read a part of a body behind `before` bytes of it. What is too much is dropped."""
        kept = max(0, min(size, LARGEST + 1 - before))
        if self._room is not None and before + kept > _SMALL:
            self._room.take(kept)
            self.taken += kept
        found, rest = self._take(kept, until), size - kept
        while rest:
            rest -= len(self._take(min(rest, _HEAD), until))
        return found

    def _take(self, size: int, until: float) -> bytes:
        parts, have = [self._rest], len(self._rest)
        while have < size:
            parts.append(self._more(until))
            have += len(parts[-1])
        found = b"".join(parts)
        self._rest = found[size:]
        return found[:size]

    def _chunks(self, until: float) -> bytes:
        parts, total = [], 0
        while True:
            word = self._line(until).partition(b";")[0].strip()
            if not word.isalnum() or len(word) > 8:  # noqa: PLR2004 - digits
                raise WireError("a chunk is malformed")
            try:
                size = int(word, 16)
            except ValueError:
                raise WireError("a chunk is malformed") from None
            if not size:
                break
            parts.append(self._part(size, total, until))
            total += size
            if self._line(until):
                raise WireError("a chunk is malformed")
        while self._line(until):
            pass
        return b"".join(parts)

    def _line(self, until: float) -> bytes:
        while (end := self._rest.find(b"\r\n")) < 0:
            if len(self._rest) > _HEAD:
                raise WireError("a line is too long")
            self._rest += self._more(until)
        line, self._rest = self._rest[:end], self._rest[end + 2 :]
        return line


_FRAMING = ("content-length", "transfer-encoding")


def field(fields: Fields, name: str) -> str:
    """Return a header's value, "" without it. The name is in lower case."""
    return next((value for one, value in fields if one.lower() == name), "")


def _left(until: float) -> float:
    return max(0.001, until - time.monotonic())


class Listener:
    """Serves the connections of a listening socket. Its threads wait in `accept`, so an idle one costs nothing."""

    def __init__(self, listening: socket.socket, desk: Desk) -> None:
        self._listening, self._desk = listening, desk
        self._changing, self._room = threading.Lock(), Room(_ROOM)
        self._threads = self._free = self.working = 0
        """Threads, those of them in `accept`, and requests that have begun."""
        self._new: dict[socket.socket, None] = {}
        self._kept: dict[socket.socket, None] = {}
        """Connections before their first request, and between two, the oldest first."""
        self._is_closed = False
        self._start()

    def close(self) -> None:
        """Take no further connection. The socket's address is free at once; requests that have begun are answered."""
        self._is_closed = True
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # `close` alone would leave it to the threads in `accept`
        self._listening.close()

    def _start(self) -> None:
        self._threads += 1
        self._free += 1
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, address = self._listening.accept()
            except OSError:
                if self._is_closed:
                    return
                time.sleep(0.1)  # no file descriptor is left: the process's limit is lower than our own
                continue
            with connection:
                self._taken(connection)
                with contextlib.suppress(Exception):  # whatever a request causes, its thread goes on
                    self._talk(connection, address)
                with self._changing:
                    self._new.pop(connection, None)
                    self._kept.pop(connection, None)
                    if self._free >= _SPARE:
                        self._threads -= 1
                        return
                    self._free += 1

    def _taken(self, connection: socket.socket) -> None:
        """See to it that another thread waits for the next connection."""
        with self._changing:
            self._new[connection] = None
            self._free -= 1
            if self._free:
                return
            if self._threads < MOST:
                self._start()
                return
            oldest = next((one for one in (*self._new, *self._kept) if one is not connection), None)
            if oldest is not None:
                for group in (self._new, self._kept):
                    group.pop(oldest, None)
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)

    def _talk(self, connection: socket.socket, address: Any) -> None:
        peer = self._desk.meets(connection, address)
        stream, until = Stream(connection, self._room), time.monotonic() + READ_S
        while peer is not None and stream.wait(until if connection in self._new else None):
            with self._changing:
                self.working += 1
            try:
                is_kept = self._served(stream, peer, connection)
            finally:
                stream.end()
                with self._changing:
                    self.working -= 1
            if not is_kept:
                return

    def _served(self, stream: Stream, peer: object, connection: socket.socket) -> bool:
        """Answer one request. Return whether the connection is kept."""
        until = time.monotonic() + READ_S
        first, fields = stream.head(until)
        method, target, version = first.split(" ")
        if not (target.isascii() and target.isprintable()):
            raise WireError("the target is malformed")
        request = Incoming(method, target, fields, b"")
        refused = self._desk.admits(peer, request)
        if refused:
            stream.send(f"HTTP/1.1 {refused} ", [("Connection", "close")], b"{}", until)
            connection.shutdown(socket.SHUT_WR)
            stream.wait(time.monotonic() + 1)  # a reset would reach the peer before the answer
            return False
        if field(fields, "expect"):
            # The hook reads its input now, not earlier: without this line it asks the server itself.
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = stream.body(fields, until)
        with self._changing:
            self._new.pop(connection, None)
            self._kept.pop(connection, None)
        answer = self._desk.answers(peer, request._replace(body=body))
        is_kept = not self._is_closed and version == "HTTP/1.1" and field(fields, "connection").lower() != "close"
        said = answer.fields if is_kept else [*answer.fields, ("Connection", "close")]
        stream.send(f"HTTP/1.1 {answer.status} {answer.reason}", said, answer.body, time.monotonic() + READ_S)
        if is_kept:
            with self._changing:
                self._kept[connection] = None
        return is_kept
