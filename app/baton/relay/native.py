"""A loopback port for clients that post their hooks themselves. It does the shim's work: headers, checks, words.

It serves processes of this user that know the config file's secret, and no page of a browser. The calling process is found
in the kernel's socket table, and its environment and folder count as those of a hook.
"""

import contextlib
import hmac
import http.client
import os
import socketserver
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from baton.local.config import RELAY_PORT, config_path
from baton.local.hook import start_environment
from baton.local.hook.main import NEVER_BLOCKED, Hook, read_config
from baton.local.hook.request import Answer, Url, failure

Forward = Callable[[str, bytes, dict[str, str], float], tuple[int, list[tuple[str, str]], bytes]]
"""Sends a target, a body and headers to the server within some seconds, and returns its answer."""
HEADER = "Baton-Relay"
"""The header with the secret."""
WAITS = "Baton-Waits"
"""The header of an entry whose client waits for a person's answer."""
LARGEST = 16 << 20


class NativePort(socketserver.ThreadingTCPServer):
    """The port. `place` is the config file's value: port, blank, secret. Raise OSError if another listens there."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, place: str, url: str, config: str, forward: Forward) -> None:
        self.place, (port, _, self.secret) = place, place.partition(" ")
        self.url, self.config, self.forward = url, config, forward
        self.clients: set[int] = set()
        super().__init__(("127.0.0.1", int(port)), _Handler)
        self.host = f"127.0.0.1:{self.server_address[1]}"

    def is_used(self) -> bool:
        """Return whether a client still runs: a dead port would leave its calls unchecked."""
        self.clients -= {pid for pid in self.clients if not Path(f"/proc/{pid}").exists()}
        return bool(self.clients)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: NativePort

    def setup(self) -> None:
        super().setup()
        self.user, inode = _row(self.client_address[1], self.server.server_address[1])
        self.pid = _owner(inode, self.server.clients) if self.user == os.geteuid() else 0
        if self.pid:
            self.server.clients.add(self.pid)
        self.env = start_environment.read(self.pid) if self.pid else {}
        own = str(config_path(self.env))  # a copied home may have the same port
        self.config = own if read_config(own).get(RELAY_PORT) == self.server.place else self.server.config

    def do_POST(self) -> None:
        """Answer a hook as the shim would print it."""
        url, length = urlsplit(self.path), self.headers.get("Content-Length", "")
        client, event = url.path.removeprefix("/hooks/"), parse_qs(url.query).get("event", [""])[0]
        is_whole = length.isdecimal() and int(length) <= LARGEST
        if not (is_whole and self._is_admitted() and client.replace("-", "").isalpha() and event.isalpha()):
            self.close_connection = True
            self._answer(403, b"{}")
            return
        body = self.rfile.read(int(length))
        env = dict(self.env)
        with contextlib.suppress(OSError):
            env["CLAUDE_PROJECT_DIR"] = str(Path(f"/proc/{self.pid}/cwd").readlink())
        hook = _Hook(client, event, self.headers["Baton-On-Failure"] or "", self.config, is_known=True, env=env)
        hook.port, hook.waits = self.server, WAITS in self.headers
        said = b"" if hook.is_disabled else hook.run(body)
        # Where the client's words have no refusal, a failed request is one for a client that blocks on it.
        is_refused = hook.has_failed and not said and hook.on_failure == "block" and event not in NEVER_BLOCKED
        self._answer(503 if is_refused else 200, said)

    def _is_admitted(self) -> bool:
        known = self.headers.get(HEADER, "").encode()
        return (
            self.user == os.geteuid()
            and hmac.compare_digest(known, self.server.secret.encode())
            and self.headers.get("Host") == self.server.host
            and "Origin" not in self.headers
        )

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class _Hook(Hook):
    has_failed = False
    port: NativePort

    def fail(self, why: str, advice: str, body: bytes, *, hung: bool = False) -> bytes:
        self.has_failed = True
        return super().fail(why, advice, body, hung=hung)

    def _ask(self, url: Url, body: bytes, more: str = "") -> Answer:
        if self.url != self.port.url:  # the client was started with another server
            return super()._ask(url, body, more)
        headers = {name.decode(): value.decode("latin-1") for name, value in self._headers()}
        target = f"/hooks/{self.client}?event={self.event}{more}"
        try:
            status, given, content = self.port.forward(target, body, headers, self.seconds)
        except (OSError, http.client.HTTPException) as error:
            raise failure(error, self.seconds) from None
        lines = [f"{name}: {value}" for name, value in given if name.lower().startswith("baton-")]
        return Answer("\r\n".join([f"HTTP/1.1 {status} ", *lines]).encode("latin-1") + b"\r\n\r\n" + content)


def _row(client: int, own: int) -> tuple[int, str]:
    """Return user and inode of the socket with this port on the other side, from the kernel's table."""
    ends = f"0100007F:{client:04X}", f"0100007F:{own:04X}"
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text().splitlines():
                words = line.split()
                if words[1].endswith(ends[0]) and words[2].endswith(ends[1]):
                    return int(words[7]), words[9]
    return -1, ""


def _owner(inode: str, likely: set[int]) -> int:
    """Return the process with a socket, 0 if it cannot be seen."""
    everyone = (int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal())
    for pid in [*likely, *everyone]:
        with contextlib.suppress(OSError):
            if any(str(one.readlink()) == f"socket:[{inode}]" for one in Path(f"/proc/{pid}/fd").iterdir()):
                return pid
    return 0
