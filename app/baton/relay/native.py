"""A loopback port for clients that post their hooks themselves. It does the shim's work: headers, checks, words.

It serves processes of this user that know the config file's secret, and no page of a browser. The calling process is found
in the kernel's socket table, and its environment and folder count as those of a hook.
"""

import contextlib
import hmac
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from baton.local.config import RELAY_PORT, config_path
from baton.local.hook import start_environment
from baton.local.hook.main import NEVER_BLOCKED, Hook, read_config
from baton.local.hook.request import Answer, Url, failure
from baton.relay.request import place_of
from baton.relay.wire import Fields, Incoming, WireAnswer

Forward = Callable[[str, bytes, Fields, float], WireAnswer]
"""Sends a target, a body and headers to the server within some seconds, and returns its answer. Raises OSError."""
HEADER = "Baton-Relay"
"""The header with the secret."""
WAITS = "Baton-Waits"
"""The header of an entry whose client waits for a person's answer."""


class _Client(NamedTuple):
    """The process that posts: its initial environment, and the config file that counts for it."""

    pid: int
    env: dict[str, str]
    config: str


class _Peer:
    """The other end of a connection: its port, and its client once it is known."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.client: _Client | None = None


class NativePort:
    """The port. `place` is the config file's value: port, blank, secret. Raise OSError if another listens there."""

    def __init__(self, place: str, url: str, config: str, forward: Forward) -> None:
        self.place, (port, _, self.secret) = place, place.partition(" ")
        self.url, self.config, self.forward, self.number = url, config, forward, int(port)
        self.clients: set[int] = set()
        self._host = f"127.0.0.1:{self.number}"
        self.socket = socket.socket()
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(("127.0.0.1", self.number))
            self.socket.listen(128)
        except OSError:
            self.socket.close()
            raise

    def is_used(self) -> bool:
        """Return whether a client still runs: a dead port would leave its calls unchecked."""
        self.clients -= {pid for pid in self.clients if not Path(f"/proc/{pid}").exists()}
        return bool(self.clients)

    def meets(self, connection: socket.socket, address: Any) -> _Peer:
        """Meet a connection; who it is costs more than a stranger may cause."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Peer(address[1])

    def _client(self, port: int) -> _Client | None:
        """Return the process behind a connection's port, None for another user's."""
        user, inode = _row(port, self.number)
        if user != os.geteuid():
            return None
        env: dict[str, str] = {}
        if pid := _owner(inode, self.clients):
            self.clients.add(pid)
            env = start_environment.read(pid)
        own = str(config_path(env))  # a copied home may have the same port
        return _Client(pid, env, own if read_config(own).get(RELAY_PORT) == self.place else self.config)

    def admits(self, peer: _Peer, request: Incoming) -> int:
        """Refuse what knows no secret, a browser's page, what is no hook, and another user."""
        client, event, _ = place_of(request.target)
        is_admitted = (
            request.method == "POST"
            and request.target.startswith("/hooks/")
            and client.replace("-", "").isalpha()
            and event.isalpha()
            and hmac.compare_digest(request.field(HEADER.lower()).encode(), self.secret.encode())
            and request.field("host") == self._host
            and not any(name.lower() == "origin" for name, _ in request.fields)
        )
        if is_admitted and peer.client is None:
            peer.client = self._client(peer.port)
        return 0 if is_admitted and peer.client is not None else 403

    def answers(self, peer: _Peer, request: Incoming) -> WireAnswer:
        """Answer a hook as the shim would print it."""
        assert peer.client is not None  # noqa: S101 - it was admitted
        client, event, _ = place_of(request.target)
        env = dict(peer.client.env)
        with contextlib.suppress(OSError):
            env["CLAUDE_PROJECT_DIR"] = str(Path(f"/proc/{peer.client.pid}/cwd").readlink())
        hook = _Hook(client, event, request.field("baton-on-failure"), peer.client.config, is_known=True, env=env)
        hook.port, hook.waits = self, any(name.lower() == WAITS.lower() for name, _ in request.fields)
        said = b"" if hook.is_disabled else hook.run(request.body)
        # Where the client's words have no refusal, a failed request is one for a client that blocks on it.
        is_refused = hook.has_failed and not said and hook.on_failure == "block" and event not in NEVER_BLOCKED
        return WireAnswer(503 if is_refused else 200, [("Content-Type", "application/json")], said)


class _Hook(Hook):
    has_failed = False
    port: NativePort

    def fail(self, why: str, advice: str, body: bytes, *, hung: bool = False) -> bytes:
        self.has_failed = True
        return super().fail(why, advice, body, hung=hung)

    def _ask(self, url: Url, body: bytes, more: str = "") -> Answer:
        if self.url != self.port.url:  # the client was started with another server
            return super()._ask(url, body, more)
        headers = [(name.decode(), value.decode("latin-1")) for name, value in self._headers()]
        target = f"/hooks/{self.client}?event={self.event}{more}"
        try:
            status, given, content, _ = self.port.forward(target, body, headers, self.seconds)
        except OSError as error:
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
