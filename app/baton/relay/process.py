"""Forwards the hooks of this user to the server over kept-alive connections. `python -m baton.relay.process` runs it.

It adds no credential: a request carries the headers of its hook, so a caller can do no more than without the relay.
"""

import contextlib
import http.client
import json
import os
import queue
import socket
import socketserver
import ssl
import sys
import threading
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING

from baton.local.config import RELAY_PORT, config_path
from baton.local.hook.main import read_config
from baton.local.server import Api
from baton.relay.native import LARGEST, NativePort
from baton.relay.request import CALL_ID, hook_of
from baton.shared.person_socket import is_ours, is_person_socket, local_folder

if TYPE_CHECKING:
    from baton.relay.outage import Outage

IDLE_S = 1_800
"""Seconds without a request until the relay ends."""
CALL_S = 1.0
"""Seconds to wait for the decision on a call, before the relay decides it."""
UPSTREAM_S = 14.0
"""Seconds to wait for the server: the longest wait of a hook."""
WAIT_S = 560.0
"""The same for a hook that waits for a person."""
_CURL: dict[type[Exception], str] = {
    socket.gaierror: "6", ConnectionRefusedError: "7", TimeoutError: "28", ssl.SSLCertVerificationError: "60",
}  # fmt: skip
_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "expect", "content-length"})


def relay_socket(url: str) -> Path:
    """Return the socket's path of the relay to a server, for this config file. It may not exist."""
    key = f"{url.rstrip('/')} {config_path()}"
    return local_folder() / f"relay-{sha256(key.encode()).hexdigest()[:16]}.sock"


class _Relay(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path, api: Api, config: str) -> None:
        self.api, self.used, self.requests = api, time.monotonic(), 0
        self._config, self._importing = Path(config), threading.Lock()
        self._outage: Outage | None = None
        self.connections: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()
        self.port: NativePort | None = None
        super().__init__(str(path), _Handler)
        self.inode = path.stat().st_ino

    @property
    def outage(self) -> "Outage":
        """What decides while the server is away. The engine takes longer to import than the relay may to listen."""
        with self._importing:
            if self._outage is None:
                from baton.relay.bundle import Bundles
                from baton.relay.outage import Outage

                self._outage = Outage(Bundles(self._config, self.send), self.api.config.url)
                self._outage.begin()
            return self._outage

    def verify_request(self, request: object, client_address: object) -> bool:  # noqa: ARG002 - socketserver's signature
        """Accept only processes of this user."""
        assert isinstance(request, socket.socket)  # noqa: S101 - socketserver's own type is wider
        if sys.platform != "linux":
            return True  # the folder is closed to others
        peer = request.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(peer[4:8], sys.byteorder) == os.geteuid()

    def end_when_idle(self) -> None:
        """Stop once no request has come for `IDLE_S`. It wakes only when that may be so."""
        while (left := self.used + IDLE_S - time.monotonic()) > 0 or (self.port and self.port.is_used()):
            time.sleep(left if left > 0 else IDLE_S)
        self.stop()

    def stop(self) -> None:
        """Remove the socket and end. `shutdown` would wait for the next connection: the loop never polls."""
        with contextlib.suppress(OSError):
            if Path(str(self.server_address)).stat().st_ino == self.inode:  # a later relay may have its own there
                Path(str(self.server_address)).unlink()
        os._exit(0)

    def forward(
        self, path: str, body: bytes, headers: dict[str, str], seconds: float = UPSTREAM_S
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Return the answer to a hook: the server's, or the relay's while that is away. Raise OSError or HTTPException."""
        self.used, self.requests = time.monotonic(), self.requests + 1
        hook = hook_of(path, body, headers)
        is_call = hook.event == "PreToolUse" and not hook.about
        if self.outage.is_lost:
            self.outage.probe(hook)
            if (decided := self.outage.decide(hook)) is not None:
                return decided
        found, failed = None, None
        try:
            more = {CALL_ID: hook.id} if is_call else {}
            seconds = min(seconds, CALL_S) if is_call else seconds
            found = self.send("POST", path, body, headers | more, seconds)
        except (OSError, http.client.HTTPException) as error:
            failed = error
        if found is not None and found[0] < 500:  # noqa: PLR2004 - a proxy without its server answers so, too
            return found[0], found[1], self.outage.answered(hook, found[2])
        if not hook.about:
            self.outage.lost()
        if (decided := self.outage.decide(hook)) is not None:
            return decided
        if failed is not None:
            raise failed
        assert found is not None  # noqa: S101 - one of both
        return found

    def send(
        self, method: str, path: str, body: bytes, headers: dict[str, str], seconds: float
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Send a request to the server, and return its answer. Raise OSError or HTTPException without one."""
        until = time.monotonic() + seconds
        while True:
            try:
                connection, is_kept = self.connections.get_nowait(), True
            except queue.Empty:
                connection, is_kept = self.api.connection(seconds), False
            try:
                if not is_kept:
                    connection.connect()
                connection.sock.settimeout(max(0.01, until - time.monotonic()))
                connection.request(method, self.api.target(path), body=body, headers=headers)
                answer = connection.getresponse()
                content = answer.read()
            except (ConnectionError, http.client.HTTPException):
                connection.close()
                if is_kept:
                    continue  # the server closed it while it was idle
                raise
            except OSError:
                connection.close()
                raise
            if not answer.will_close:
                self.connections.put(connection)
            return answer.status, answer.getheaders(), content


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Relay

    def do_GET(self) -> None:
        """Report the state."""
        port = self.server.port.server_address[1] if self.server.port else 0
        state = {"pid": os.getpid(), "requests": self.server.requests, "port": port, **self.server.outage.state()}
        self._answer(200, [], json.dumps(state).encode())

    def do_DELETE(self) -> None:
        """Stop."""
        self._answer(200, [], b"{}")
        self.server.stop()

    def do_POST(self) -> None:
        """Forward a hook."""
        body = self._body() if self.path.startswith("/hooks/") else None
        if body is None:
            self.close_connection = True
            return self._answer(400, [], b"{}")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP | {"host"}}
        try:
            waits = "about=wait" in self.path
            self._answer(*self.server.forward(self.path, body, headers, WAIT_S if waits else UPSTREAM_S))
        except (OSError, http.client.HTTPException) as error:
            # The reason is curl's exit code: the shim words it as if it had asked the server itself.
            self._answer(
                599, [], b"", reason=next((code for kind, code in _CURL.items() if isinstance(error, kind)), "56")
            )

    def _body(self) -> bytes | None:
        """Return the request's body, None if it is too large or malformed. curl sends it in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            length = self.headers.get("Content-Length", "")
            return self.rfile.read(int(length)) if length.isdecimal() and int(length) <= LARGEST else None
        body = b""
        with contextlib.suppress(ValueError):
            while size := int(self.rfile.readline(20), 16):
                if not 0 < size <= LARGEST - len(body):
                    return None
                body += self.rfile.read(size)
                self.rfile.readline(20)
            self.rfile.readline(20)
            return body
        return None

    def _answer(
        self, status: int, headers: list[tuple[str, str]], content: bytes, *, reason: str | None = None
    ) -> None:
        self.send_response_only(status, reason)
        for name, value in headers:
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> None:
    """Serve until stopped or idle."""
    api = Api(token="")
    path = Path(sys.argv[1]) if sys.argv[1:] else relay_socket(api.config.url)
    config = sys.argv[2] if sys.argv[2:] else str(config_path())
    if is_person_socket(path):
        return  # another hook has just started one
    with contextlib.suppress(OSError):
        os.setsid()  # it outlives the client
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_ours(path.parent):
        raise SystemExit(f"`{path.parent}` is not a folder of this user alone. Remove it and start the relay again.")
    path.unlink(missing_ok=True)
    os.umask(0o177)
    with _Relay(path, api, config) as relay:
        if place := read_config(config).get(RELAY_PORT):
            with contextlib.suppress(OSError):  # `baton relay status` shows that another listens there
                relay.port = NativePort(place, api.config.url, config, relay.forward)
                threading.Thread(target=relay.port.serve_forever, args=(IDLE_S,), daemon=True).start()
        # The shim waits until the output is closed: a native hook that finds no port lets its call run.
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        threading.Thread(target=relay.end_when_idle, daemon=True).start()
        threading.Thread(target=lambda: relay.outage, daemon=True).start()
        relay.serve_forever(poll_interval=IDLE_S)


if __name__ == "__main__":
    main()
