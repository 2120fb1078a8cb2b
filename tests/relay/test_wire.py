"""The relay's HTTP: what arrives whole is answered, whatever else its peers send or hold back."""

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from baton.relay import wire
from baton.relay.wire import Incoming, Listener, WireAnswer
from tests.support.cases import every
from tests.support.server import until

POST = b"POST /hooks/codex HTTP/1.1\r\n"


class _Echo:
    """A desk that sends back what it gets. `holds` delays its answers."""

    def __init__(self) -> None:
        self.seen: list[Incoming] = []
        self.holds = threading.Event()

    def meets(self, connection: socket.socket, address: object) -> object:
        return connection, address

    def admits(self, peer: object, request: Incoming) -> int:
        assert peer
        return 403 if request.target == "/refused" else 0

    def answers(self, peer: object, request: Incoming) -> WireAnswer:
        assert peer
        self.seen.append(request)
        until(lambda: not self.holds.is_set())
        if request.target == "/broken":
            raise LookupError
        return WireAnswer(200, [("Baton-Size", str(len(request.body)))], request.body[:9])


class _Place:
    def __init__(self, path: Path) -> None:
        self.path, self.desk = path, _Echo()
        self.listener = self.listen()

    def listen(self) -> Listener:
        self.path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(self.path))
        listening.listen(128)
        return Listener(listening, self.desk)

    def connect(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(30)
        made.connect(str(self.path))
        return made

    def ask(self, *parts: bytes, ends: bool = True) -> bytes:
        """Send parts, and return all that comes; `ends` asks for the end of the connection."""
        with self.connect() as connection:
            for part in parts:
                with contextlib.suppress(ConnectionError):  # it may have said all it wants to say
                    connection.sendall(part)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            said = b""
            with contextlib.suppress(ConnectionError):
                while part := connection.recv(65_536):
                    said += part
            return said


@pytest.fixture
def place(tmp_path):
    made = _Place(tmp_path / "s")
    yield made
    made.desk.holds.clear()
    made.listener.close()


@every(
    "said",
    [
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"POST\r\n\r\n",
        POST[:-2] + b" more\r\n\r\n",
        b"POST /hooks/a\x01b HTTP/1.1\r\n\r\n",
        POST + b"no colon\r\n\r\n",
        POST + b"Two words: a\r\nContent-Length: 0\r\n\r\n",
        POST + b"A: b\nAuthorization: c\r\nContent-Length: 0\r\n\r\n",
        POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: gzip\r\n\r\n",
        POST + b"Content-Length: -2\r\n\r\n{}",
        POST + b"Content-Length: +2\r\n\r\n{}",
        POST + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}too long\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n123456789\r\n",
        POST + b"Content-Length: 9\r\n\r\n{}",
        POST + b"A: " + b"b" * 140_000,
        POST[:-10] + b"c" * 140_000,
        b"POST /broken HTTP/1.1\r\n\r\n",
    ],
)
def test_malformed_request_gets_no_answer_and_the_next_one_does(place, said):
    place.desk.seen.clear()
    assert place.ask(said) == b""
    assert [one.target for one in place.desk.seen] in ([], ["/broken"])
    assert place.ask(POST + b"Content-Length: 2\r\n\r\n{}").endswith(b"\r\n\r\n{}")


@every(
    ("parts", "body"),
    [
        ((POST + b"Content-Length: 2\r\n\r\n{}",), b"{}"),
        ((POST, b"Content-", b"Length: 2\r\n\r\n", b"{", b"}"), b"{}"),
        ((POST + b"Transfer-Encoding: Chunked\r\n\r\n1;a=b\r\n{\r\n1\r\n}\r\n0\r\nA: b\r\n\r\n",), b"{}"),
        ((POST + b"\r\n",), b""),
        ((POST + b"Baton-Project: \xc3\xa0\xa0 \r\nContent-Length:2\r\n\r\n{}",), b"{}"),
    ],
)
def test_request_arrives_whole(place, parts, body):
    place.desk.seen.clear()
    assert b"200" in place.ask(*parts)
    (seen,) = place.desk.seen
    assert (seen.body, seen.field("baton-project")) == (body, "Ã\xa0\xa0" if b"Project" in parts[0] else "")


def test_connection_is_kept_for_requests_one_after_the_other(place):
    said = place.ask((POST + b"Content-Length: 2\r\n\r\n{}") * 3)
    assert said.count(b"200") == 3
    assert place.ask(POST + b"Connection: close\r\n\r\n", ends=False).count(b"200") == 1


def test_body_is_asked_for_once_the_request_is_admitted(place):
    refused = b"POST /refused HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    assert place.ask(refused).startswith(b"HTTP/1.1 403")
    with place.connect() as connection:
        connection.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(99) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert b"200" in connection.recv(99)


def test_of_a_body_that_is_too_large_the_server_gets_one_byte_too_much(place, monkeypatch):
    monkeypatch.setattr(wire, "LARGEST", 200_000)
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    for said in (
        POST + b"Content-Length: 900000\r\n\r\n" + b"x" * 900_000,
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 9 + b"0\r\n\r\n",
    ):
        assert b"Baton-Size: 200001\r\n" in place.ask(said)


def test_large_bodies_share_a_room(tmp_path, monkeypatch):
    monkeypatch.setattr(wire, "_ROOM", 150_000)
    monkeypatch.setattr(wire, "READ_S", 60.0)
    place = _Place(tmp_path / "s")
    left = lambda: place.listener._room._left  # noqa: E731
    large = POST + b"Content-Length: 100000\r\n\r\n"
    with place.connect() as first:
        first.sendall(large)
        until(lambda: left() == 50_000)
        assert place.ask(large + b"x" * 100_000) == b""
        assert b"200" in place.ask(POST + b"Content-Length: 2\r\n\r\n{}")
        first.sendall(b"x" * 100_000)
        assert b"200" in first.recv(99)
    until(lambda: left() == 150_000, about=left)
    assert b"200" in place.ask(large + b"x" * 100_000)
    place.listener.close()


@pytest.mark.parametrize("said", [b"", POST + b"Content-Le", POST + b"Content-Length: 9\r\n\r\n{}"])
def test_flood_of_unfinished_requests_keeps_nobody_out(place, said, monkeypatch):
    monkeypatch.setattr(wire, "MOST", 8)
    before = threading.active_count()
    with contextlib.ExitStack() as flood:
        for _ in range(50):
            connection = flood.enter_context(place.connect())
            with contextlib.suppress(ConnectionError):
                connection.sendall(said)
        assert b"200" in place.ask(POST + b"Content-Length: 2\r\n\r\n{}")
        assert threading.active_count() - before <= 8
    until(lambda: threading.active_count() - before <= 4)


def test_unfinished_request_ends_after_its_time(place, monkeypatch):
    monkeypatch.setattr(wire, "READ_S", 0.1)
    for said in (b"", POST, POST + b"Content-Length: 9\r\n\r\n{}"):
        assert place.ask(said, ends=False) == b""


def test_closed_listener_frees_its_address_and_ends_what_has_begun(place):
    place.desk.holds.set()
    said: list[bytes] = []
    asking: Callable[[], None] = lambda: said.append(place.ask(POST + b"Content-Length: 2\r\n\r\n{}"))  # noqa: E731
    thread = threading.Thread(target=asking)
    thread.start()
    until(lambda: place.listener.working)
    place.listener.close()
    with pytest.raises(ConnectionError), socket.socket(socket.AF_UNIX) as late:
        late.connect(str(place.path))
    second = place.listen()
    place.desk.holds.clear()
    thread.join()
    assert b"200" in said[0]
    assert b"Connection: close" in said[0]
    assert b"200" in place.ask(POST + b"\r\n")
    second.close()
