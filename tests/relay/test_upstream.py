"""The relay's connections to the server."""

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest

from baton.relay import upstream
from baton.relay.upstream import Upstream
from baton.relay.wire import WireError
from tests.support.cases import every
from tests.support.server import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class _Server:
    """Answers each request with the next of `says`, and counts its connections. An answer may end the connection."""

    def __init__(self) -> None:
        self.says: list[bytes] = []
        self.ends = False
        self.tls: ssl.SSLContext | None = None
        self.connections = 0
        self.now: socket.socket | None = None
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.now, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._answer, args=(self.now,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.ExitStack() as ends, contextlib.suppress(OSError):
            ends.enter_context(connection)
            if self.tls is not None:
                connection = ends.enter_context(self.tls.wrap_socket(connection, server_side=True))
            while connection.recv(65_536):
                connection.sendall(self.says.pop(0) if self.says else OK)
                if self.ends:
                    return

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@pytest.fixture
def server():
    made = _Server()
    yield made
    made.close()


@pytest.fixture
def one(server):
    made = Upstream(server.url, "")
    yield made
    while made._kept:
        made._kept.pop()[0].connection.close()


def _ask(one: Upstream, seconds: float = 30) -> tuple[int, bytes]:
    found = one.send("POST", "/hooks/codex", b"{}", [], seconds)
    return found.status, found.body


@every(
    ("said", "found", "ends"),
    [
        (OK, (200, b"{}"), False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", (200, b"{}"), False),
        (b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + OK, (200, b"{}"), False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b""), False),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", (304, b""), False),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", (200, b"{}"), True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", (200, b"{}"), True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", (200, b"{}"), True),
    ],
)
def test_answer_is_read_and_its_connection_kept_if_it_may_be(server, one, said, found, ends):
    while one._kept:
        one._kept.pop()[0].connection.close()
    before = server.connections
    server.says, server.ends = [said], ends
    assert _ask(one) == found
    server.ends = False
    assert _ask(one) == (200, b"{}")
    assert server.connections - before == 1 + ends


@every(
    "said",
    [
        b"220 mail.example ESMTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/2 200\r\n\r\n",
        b"SSH-2.0\r\n",
    ],
)
def test_what_is_no_answer_is_an_error(server, one, said):
    server.says, server.ends = [said], True
    with pytest.raises(WireError):
        _ask(one)


def test_connection_that_the_server_has_closed_or_spoken_on_is_replaced(server, one):
    _ask(one)
    assert server.now
    server.now.shutdown(socket.SHUT_RDWR)
    assert _ask(one) == (200, b"{}")
    server.now.sendall(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
    until(lambda: upstream._has_input(one._kept[0][0]))
    assert _ask(one) == (200, b"{}")
    assert server.connections == 3


@pytest.mark.parametrize("jump", [3_600, -3_600])
def test_connection_of_before_a_sleep_of_the_machine_is_replaced(server, one, jump, monkeypatch):
    _ask(one)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    assert _ask(one) == (200, b"{}")
    assert server.connections == 2


def _certificate(folder: Path, name: str) -> ssl.SSLContext:
    made = "openssl req -x509 -newkey ed25519 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    files = ["-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt"]
    subprocess.run([*made.split(), *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/{name}.crt", f"{folder}/{name}.key")
    return context


def test_server_with_another_certificate_gets_no_request(server, tmp_path):
    own, other = (_certificate(tmp_path, name) for name in ("own", "other"))
    one = Upstream(server.url.replace("http:", "https:"), str(tmp_path / "own.crt"))
    server.tls = own
    assert _ask(one) == (200, b"{}")
    assert _ask(one) == (200, b"{}")
    assert server.connections == 1
    one._kept.pop()[0].connection.close()
    server.tls, server.says = other, [OK]
    with pytest.raises(ssl.SSLCertVerificationError):
        _ask(one)
    assert server.says == [OK]


def test_proxy_that_cannot_be_used_is_an_error_of_the_network(monkeypatch):
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(WireError, match="proxy"):
        _ask(Upstream("https://baton.example", ""))


def test_name_that_is_never_found_costs_no_more_than_the_requests_time(monkeypatch):
    ends = threading.Event()
    monkeypatch.setattr(upstream, "reach", lambda *_: ends.wait(60))
    with pytest.raises(TimeoutError):
        _ask(Upstream("http://baton.example", ""), 0.05)
    ends.set()
