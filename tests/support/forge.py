"""Starts `baton` processes without importing Baton each time: one process imports it, reads the shipped policies, and
forks. They are real otherwise.

An import takes longer than the rest of a server's start. `python -m tests.support.forge SOCKET` is the forking process.
"""

import atexit
import contextlib
import gc
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

from baton.cli.commands import COMMANDS
from baton.serve.warm import warm
from tests.support.run_folder import alone_in_the_run
from tests.support.shipped import read_once
from tests.support.spare_drain import exit_after, keep_spare_drain

ROOT = Path(__file__).parents[2]
STARTER_S = 60
"""How long the forge waits for whoever started it, in seconds."""


class Forked:
    """A process of the forge; it has what is used of `subprocess.Popen`."""

    def __init__(self, pid, ended):
        self.pid = pid
        self._ended = ended
        self.returncode = None

    def poll(self):
        self.returncode = self._ended.get(self.pid)
        return self.returncode

    def wait(self, timeout=None):
        if not self._ended.await_(self.pid, timeout):
            raise subprocess.TimeoutExpired("baton", timeout)
        return self.poll()

    def send_signal(self, how):
        if self.poll() is None:
            os.kill(self.pid, how)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class Forge:
    """The process that forks, as its user sees it. One serves all workers of a run: who needs it first starts it."""

    def __init__(self):
        self._orders = None
        self._statuses = {}
        self._started = []
        self._changed = threading.Condition()

    def start(self, arguments, env, log):
        """Start `baton` with these arguments, this environment, and a file's path for what it says."""
        return self._order(arguments, env, os.devnull, log, log, Path.cwd())

    def run(self, arguments, *, env, cwd=None, stdin="", timeout=60):
        """Run `baton` to its end, as `subprocess.run` does, with text in and out."""
        with tempfile.TemporaryDirectory(prefix="baton-run-") as folder:
            given, out, err = (Path(folder) / name for name in ("in", "out", "err"))
            given.write_text(stdin)
            process = self._order(list(arguments), env, given, out, err, cwd or Path.cwd())
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            return subprocess.CompletedProcess(["baton", *arguments], status, out.read_text(), err.read_text())

    def _order(self, arguments, env, given, out, err, cwd):
        if self._orders is None:
            self._orders = _connected()
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()
            atexit.register(self.stop)
        files = [str(given), str(out), str(err)]
        order = {"arguments": list(map(str, arguments)), "env": env, "files": files, "cwd": str(cwd)}
        self._orders.sendall(json.dumps(order).encode() + b"\n")
        with self._changed:
            assert self._changed.wait_for(lambda: self._started, timeout=60), "the forge does not answer"
            return Forked(self._started.pop(), self)

    def stop(self):
        self._orders.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._orders.close()

    def _read(self):
        with self._orders.makefile() as lines:
            for line in lines:
                told = json.loads(line)
                with self._changed:
                    if "status" in told:
                        self._statuses[told["pid"]] = told["status"]
                    else:
                        self._statuses.pop(told["pid"], None)
                        self._started.append(told["pid"])
                    self._changed.notify_all()

    def get(self, pid):
        return self._statuses.get(pid)

    def await_(self, pid, timeout):
        with self._changed:
            return self._changed.wait_for(lambda: pid in self._statuses, timeout)


def _connected():
    """Connect to the forge of the run, and start it where nobody has."""
    with alone_in_the_run("forge") as folder:
        orders = socket.socket(socket.AF_UNIX)
        try:
            orders.connect(str(folder / "forge.sock"))
        except OSError:
            with (folder / "forge.log").open("ab") as log:
                command = [sys.executable, "-m", "tests.support.forge", str(folder / "forge.sock")]
                subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
            orders.connect(str(folder / "forge.sock"))
        return orders


def _fork(order):
    pid = os.fork()
    if pid:
        return pid
    exit_after(partial(_run, order))
    raise AssertionError


def _run(order):
    _become(order)
    from baton.cli.main import main as baton  # noqa: PLC0415

    if order["arguments"] == ["serve"]:
        keep_spare_drain()
    baton()


def _become(order):
    """Take over what a process of its own would have got."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    given, *said = order["files"]
    files = [
        os.open(given, os.O_RDONLY),
        *(os.open(one, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) for one in said),
    ]
    for new, old in enumerate(files):
        os.dup2(old, new)
    os.closerange(3, max(*files, 64) + 1)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    random.seed()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = ["baton", *order["arguments"]]


def _import_all():
    """Import what a server does, and what it would import only when it runs."""
    for name in (
        *("baton.main", "baton.kernel.http.serving.server", "baton.kernel.base.logs", "baton.cli.app"),
        *("baton.serve.people_listener", "baton.serve.worker", "baton.records.pipeline.drain_main"),
        *("anyio._backends._asyncio", "httpcore2", "uvicorn.lifespan.on", "uvicorn.loops.uvloop"),
        *("aiosqlite", "asyncpg"),
    ):
        __import__(name)
    for command in COMMANDS.values():
        __import__(command.where.partition(":")[0])
    read_once()
    warm()
    gc.collect()
    gc.freeze()


def main():
    """Listen on a socket, and leave whoever started this: it serves all processes of a run until the last has left."""
    _import_all()
    path = Path(sys.argv[1])
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Orders(listener).serve()


class _Orders:
    """Forks for each order that comes on a connection; tells there who started, and who ended how."""

    def __init__(self, listener):
        self._listener = listener
        self._rest = {}
        self._whose = {}
        self._watched = selectors.DefaultSelector()

    def serve(self):
        waking, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._watched.register(self._listener, selectors.EVENT_READ)
        self._watched.register(waking, selectors.EVENT_READ)
        had_any = False
        while self._rest or not had_any:
            ready = self._watched.select(None if had_any else STARTER_S)
            if not ready:
                return
            for key, _ in ready:
                if key.fd == waking:
                    os.read(waking, 1024)
                    self._tell_ends()
                elif key.fileobj is self._listener:
                    connection, _ = self._listener.accept()
                    self._watched.register(connection, selectors.EVENT_READ)
                    self._rest[connection] = b""
                    had_any = True
                else:
                    self._take(key.fileobj)

    def _take(self, connection):
        given = connection.recv(1 << 20)
        if not given:
            self._leave(connection)
            return
        *lines, self._rest[connection] = (self._rest[connection] + given).split(b"\n")
        for line in lines:
            pid = _fork(json.loads(line))
            self._whose[pid] = connection
            _tell(connection, pid=pid)

    def _leave(self, connection):
        """End what somebody ordered who has left: a run that was killed leaves no server behind."""
        self._watched.unregister(connection)
        connection.close()
        del self._rest[connection]
        for pid in [pid for pid, whose in self._whose.items() if whose is connection]:
            os.kill(pid, signal.SIGKILL)

    def _tell_ends(self):
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                _tell(self._whose.pop(ended[0]), pid=ended[0], status=os.waitstatus_to_exitcode(ended[1]))


def _tell(connection, **what):
    with contextlib.suppress(OSError):  # whoever gave the order has left
        connection.sendall(json.dumps(what).encode() + b"\n")


forge = Forge()

if __name__ == "__main__":
    main()
