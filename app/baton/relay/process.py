"""Forwards the hooks of this user to the server over kept-alive connections. `python -m baton.relay.process` runs it.

It adds no credential: a request carries the headers of its hook, so a caller can do no more than without the relay.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from baton.local import config as settings
from baton.local.config import RELAY_PORT, config_path
from baton.local.hook import project
from baton.local.hook.main import BACKGROUND, SECONDS, clean, read_config
from baton.local.hook.request import NoAnswerError
from baton.relay.native import NativePort
from baton.relay.request import CALL_ID, HookRequest, hook_of
from baton.relay.upstream import Upstream
from baton.relay.wire import Fields, Incoming, Listener, Stream, WireAnswer
from baton.shared.person_socket import is_ours, listen, local_folder

if TYPE_CHECKING:
    from baton.relay.outage import Outage

IDLE_S = 1_800
"""Seconds without a request until the relay ends."""
LEFT_S = 0.5
"""Seconds of a hook's time that are left for the relay's own answer."""
UPSTREAM_S = 14.0
"""Seconds to wait for the server: the longest wait of a hook."""
WAIT_S = 560.0
"""The same for a hook that waits for a person."""
MOST_WAITING = 50
"""Hooks that wait for a person at once. A further one is told not to wait: its refusal stays."""
PREPARE_S = 0.2
"""Seconds that the engine's import waits for the first answer: the two would share a processor."""
START_S = 2.0
"""Seconds that a starting relay gives another to listen or to end."""
STUCK_S = 5.0
"""Seconds after which a relay without an answer is replaced."""
_M_MMAP_THRESHOLD = -3
"""Of glibc's `malloc`: the size of a block in pages of its own, which return at once when a large request is answered."""
_EARLY = 512
"""Answers that are kept until the engine is imported."""
_COMMANDS = frozenset({"GET /alive", "GET /relay", "DELETE /relay"})
_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "expect", "content-length", "host"})


def relay_socket(url: str) -> Path:
    """Return the socket's path of the relay to a server, for this config file. It may not exist."""
    key = f"{url.rstrip('/')} {config_path()}"
    return local_folder() / f"relay-{sha256(key.encode()).hexdigest()[:16]}.sock"


class ChangedRulesError(OSError):
    """The server is away, and another program has changed the rules for that."""


class Relay:
    """The relay of one config file: forwards hooks, and lets `Outage` decide them while the server is away."""

    def __init__(self, url: str, ca_file: str, config: str) -> None:
        self.used, self.requests = time.monotonic(), 0
        self._seats = threading.Semaphore(MOST_WAITING)
        self._url, self._config, self._importing = url, Path(config), threading.Lock()
        self._upstream = Upstream(url, ca_file)
        self._outage: Outage | None = None
        self._early: deque[tuple[HookRequest, bytes]] = deque(maxlen=_EARLY)
        self._begun = threading.Event()
        self._first: HookRequest | None = None

    @property
    def outage(self) -> "Outage":
        """What decides while the server is away. The engine takes longer to import than the relay may to listen."""
        with self._importing:
            if self._outage is None:
                from baton.relay.bundle import Bundles
                from baton.relay.outage import Outage

                outage = Outage(Bundles(self._config, self._url, self._upstream.send))
                outage.begin()
                self._outage = outage
            while self._early:
                self._first, content = self._early.popleft()
                self._outage.answered(self._first, content)
            return self._outage

    def prepare(self) -> None:
        """Import the engine and fetch the rules, after the first answer if there is one soon."""
        self._begun.wait(PREPARE_S)
        import ctypes  # the engine imports it, too

        with contextlib.suppress(AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 18)
        outage, first = self.outage, self._first
        if first is not None:
            outage.fetch(first)

    def state(self) -> dict[str, object]:
        """Return what `baton relay status` shows. It asks the server whether it answers now."""
        state = {"pid": os.getpid(), "requests": self.requests, "server_answers": False, **self.outage.state()}
        with contextlib.suppress(OSError):
            state["server_answers"] = b'"ok"' in self._upstream.send("GET", "/healthz", b"", [], 2 * LEFT_S).body
        return state

    def forward(self, path: str, body: bytes, headers: Fields, seconds: float = UPSTREAM_S) -> WireAnswer:
        """Return the answer to a hook: the server's, or the relay's while that is away. Raise OSError without one."""
        self.used, self.requests = time.monotonic(), self.requests + 1
        now = self._outage.now() if self._outage is not None else datetime.now(UTC)
        hook = hook_of(path, body, headers, now)
        if self._outage is not None and self._outage.is_lost:
            self._outage.probe(hook)
            if (decided := self._outage.decide(hook)) is not None:
                return decided
        found = self._asked(hook, path, seconds)
        if isinstance(found, WireAnswer) and _is_of_server(found):
            return self._answered(hook, found)
        if not hook.about:
            self.outage.lost()
        if (decided := self.outage.decide(hook)) is not None:
            return decided
        if self.outage.is_changed:
            raise ChangedRulesError
        if isinstance(found, OSError):
            raise found
        return found

    def _asked(self, hook: HookRequest, path: str, seconds: float) -> WireAnswer | OSError:
        """Ask the server. Only so many hooks wait for a person: a further one is told not to."""
        headers, waits = hook.headers, hook.about.startswith("wait")
        if hook.event == "PreToolUse" and not hook.about:
            headers = [*headers, (CALL_ID, hook.id)]
        if not hook.about and hook.event not in BACKGROUND:
            seconds = min(seconds, SECONDS.get(hook.event, 1.5) - LEFT_S)
        if waits and not self._seats.acquire(blocking=False):
            return WireAnswer(200, [], b"{}")
        try:
            return self._upstream.send("POST", path, hook.body, headers, seconds)
        except OSError as error:
            return error
        finally:
            if waits:
                self._seats.release()

    def _answered(self, hook: HookRequest, found: WireAnswer) -> WireAnswer:
        if self._outage is not None:
            return found._replace(body=self._outage.answered(hook, found.body))
        self._early.append((hook, found.body))
        self._begun.set()
        return found


def _is_of_server(found: WireAnswer) -> bool:
    """Return whether Baton has answered: a proxy without its server, or another network's portal, marks nothing so."""
    is_marked = any(name.lower().startswith("baton-") for name, _ in found.fields)
    return is_marked and found.status < 500 and found.body[:1] + found.body[-1:] == b"{}"  # noqa: PLR2004


class SocketDesk:
    """The socket for shims: forwards their hooks, and obeys `baton relay`."""

    def __init__(self, relay: Relay, house: "House") -> None:
        self._relay, self._house = relay, house

    def meets(self, connection: socket.socket, address: object) -> object | None:  # noqa: ARG002 - as `Desk` has it
        """Accept only processes of this user."""
        if sys.platform != "linux":
            return self  # the folder is closed to others
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return self if int.from_bytes(peer[4:8], sys.byteorder) == os.geteuid() else None

    def admits(self, peer: object, request: Incoming) -> int:  # noqa: ARG002
        """Admit hooks, and the commands."""
        is_hook = request.method == "POST" and request.target.startswith("/hooks/")
        return 0 if is_hook or f"{request.method} {request.target}" in _COMMANDS else 400

    def answers(self, peer: object, request: Incoming) -> WireAnswer:  # noqa: ARG002
        """Forward a hook, show the state, or stop."""
        if request.method != "POST":
            import json

            if request.method == "DELETE":
                self._house.leave()
                threading.Thread(target=self._house.end, daemon=True).start()
                return WireAnswer(200, [], b"{}")
            state = self._relay.state() | {"port": self._house.port} if request.target == "/relay" else {}
            return WireAnswer(200, [], json.dumps(state).encode())
        headers = [(name, value) for name, value in request.fields if name.lower() not in _HOP]
        if (root := request.field("baton-root")) and not request.field("baton-project"):
            headers += _project_of(root)
        try:
            waits = "about=wait" in request.target
            found = self._relay.forward(request.target, request.body, headers, WAIT_S if waits else UPSTREAM_S)
        except OSError as error:
            # The reason is curl's exit code, or `changed`: the shim words it as if it had asked the server itself.
            return WireAnswer(599, [], b"", _curl_code(error))
        return found._replace(fields=[(name, value) for name, value in found.fields if name.lower() not in _HOP])


def _project_of(root: str) -> Fields:
    """Return the headers of a project that the shim has left to the relay."""
    folder = os.fsdecode(root.encode("latin-1"))
    values = {"Baton-Project": project.remote(folder) or folder, "Baton-Worktrees": project.worktrees(folder)}
    return [(name, clean(value).decode("latin-1")) for name, value in values.items() if value]


class House:
    """What a relay listens on: its socket, its port, and the lock of both."""

    def __init__(self, path: Path, lock: int) -> None:
        self._path, self._lock = path, lock
        self._listeners: list[Listener] = []
        self._ending: list[Listener] = []
        self._leaving = threading.Lock()
        self.port = 0

    def open(self, relay: Relay, url: str, config: str) -> NativePort | None:
        """Listen, on the port if the config file has one. Return the port."""
        listening = listen(self._path, 128)
        self._inode = self._path.stat().st_ino
        self._listeners.append(Listener(listening, SocketDesk(relay, self)))
        if place := read_config(config).get(RELAY_PORT):
            with contextlib.suppress(OSError):  # `baton relay status` shows that another listens there
                port = NativePort(place, url, config, relay.forward)
                self._listeners.append(Listener(port.socket, port))
                self.port = port.number
                return port
        return None

    def leave(self) -> None:
        """Free socket, port and lock: from now on another relay may start."""
        with self._leaving:
            listeners, self._listeners = self._listeners, []
        if not listeners:
            return
        self._ending = listeners
        for one in listeners:
            one.close()
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:  # a later relay may have its own there
                self._path.unlink()
        os.close(self._lock)

    def end(self) -> None:
        """End once the requests that have begun are answered."""
        until = time.monotonic() + UPSTREAM_S
        while any(one.working for one in self._ending) and time.monotonic() < until:
            time.sleep(0.02)
        os._exit(0)


def _curl_code(error: OSError) -> str:
    """Return curl's exit code for an error."""
    if isinstance(error, TimeoutError):
        return "28"
    kinds = {
        "gaierror": "6", "ConnectionRefusedError": "7", "SSLCertVerificationError": "60", "ChangedRulesError": "changed",
    }  # fmt: skip
    return next((kinds[one.__name__] for one in type(error).__mro__ if one.__name__ in kinds), "56")


def _claim(path: Path) -> int | None:
    """Return the lock of a socket, None while a relay answers there. One that is stuck is ended."""
    import fcntl  # missing on Windows, where the commands import this module

    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + START_S
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        pid, answers = _peer(path)
        if answers:
            os.close(lock)
            return None
        if pid > 0:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        elif time.monotonic() > until:
            return lock  # whoever holds it does not listen
        time.sleep(0.02)


def _peer(path: Path) -> tuple[int, bool]:
    """Return the process that listens at a socket, 0 if unknown, and whether it answers."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        until = time.monotonic() + STUCK_S
        connection.settimeout(STUCK_S)
        connection.connect(str(path))
        pid = 0
        if sys.platform == "linux":
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pid = int.from_bytes(peer[:4], sys.byteorder, signed=True)
            process = Path(f"/proc/{pid}")
            if b"baton.relay.process" not in (process / "cmdline").read_bytes():
                return 0, False
            if (process / "stat").read_text().rpartition(") ")[2][:1] in {"T", "t"}:  # it is stopped
                return pid, False
        stream = Stream(connection)
        try:
            stream.send("GET /alive HTTP/1.1", [], b"", until)
            return pid, stream.head(until)[0].startswith("HTTP/1.1 200")
        except ConnectionError:
            return 0, False  # it is just leaving
        except OSError:
            return pid, False
    return 0, False


def _is_ended_within(seconds: float) -> bool:
    """Wait for SIGTERM. Return whether it has come; elsewhere than on Linux it ends the process at once."""
    if sys.platform == "linux":
        return signal.sigtimedwait({signal.SIGTERM}, seconds) is not None
    time.sleep(seconds)
    return False


def main() -> None:
    """Serve until stopped or idle."""
    found = settings.load()
    path = Path(sys.argv[1]) if sys.argv[1:] else relay_socket(found.url)
    config = sys.argv[2] if sys.argv[2:] else str(config_path())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_ours(path.parent):
        raise SystemExit(f"`{path.parent}` is not a folder of this user alone. Remove it and start the relay again.")
    try:
        relay = Relay(found.url, found.ca_file, config)
    except NoAnswerError as error:
        raise SystemExit(f"the server {error}. {error.advice}") from None
    if (lock := _claim(path)) is None:
        return  # another hook has just started one
    with contextlib.suppress(OSError):
        os.setsid()  # it outlives the client
    os.umask(0o177)
    if sys.platform == "linux":  # before any thread: a handler would wait for the main one to wake
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    house = House(path, lock)
    port = house.open(relay, found.url, config)
    # The shim waits until the output is closed: a native hook that finds no port lets its call run.
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    threading.Thread(target=relay.prepare, daemon=True).start()
    # It wakes only when it may have been idle for long enough.
    while (left := relay.used + IDLE_S - time.monotonic()) > 0 or (port and port.is_used()):
        if _is_ended_within(left if left > 0 else IDLE_S):
            break
    house.leave()
    house.end()


if __name__ == "__main__":
    main()
