"""Forwards the hooks of this user to the server over kept-alive connections. `python -m baton.relay.process` runs it.

It adds no credential: a request carries the headers of its hook, so a caller can do no more than without the relay.
"""

import contextlib
import http.client
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

from baton.local.config import RELAY_PORT, config_path
from baton.local.hook.main import read_config
from baton.local.server import Api
from baton.relay.native import LARGEST, NativePort
from baton.shared.person_socket import is_ours, is_person_socket, local_folder

IDLE_S = 1_800
"""Seconds without a request until the relay ends."""
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

    def __init__(self, path: Path, api: Api) -> None:
        self.api, self.used, self.requests = api, time.monotonic(), 0
        self.connections: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()
        self.port: NativePort | None = None
        super().__init__(str(path), _Handler)
        self.inode = path.stat().st_ino

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
        """Send a hook to the server, and return its answer. Raise OSError or HTTPException without one."""
        self.used, self.requests = time.monotonic(), self.requests + 1
        until = self.used + seconds
        while True:
            try:
                connection, is_kept = self.connections.get_nowait(), True
            except queue.Empty:
                connection, is_kept = self.api.connection(seconds), False
            try:
                if not is_kept:
                    connection.connect()
                connection.sock.settimeout(max(0.01, until - time.monotonic()))
                connection.request("POST", self.api.target(path), body=body, headers=headers)
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
        self._answer(200, [], f'{{"pid":{os.getpid()},"requests":{self.server.requests},"port":{port}}}'.encode())

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
    with _Relay(path, api) as relay:
        if place := read_config(config).get(RELAY_PORT):
            with contextlib.suppress(OSError):  # `baton relay status` shows that another listens there
                relay.port = NativePort(place, api.config.url, config, relay.forward)
                threading.Thread(target=relay.port.serve_forever, args=(IDLE_S,), daemon=True).start()
        # The shim waits until the output is closed: a native hook that finds no port lets its call run.
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        threading.Thread(target=relay.end_when_idle, daemon=True).start()
        relay.serve_forever(poll_interval=IDLE_S)


if __name__ == "__main__":
    main()
