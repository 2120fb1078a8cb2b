"""Starts `baton` processes that need not import Baton: one process does, and forks. They are as real otherwise.

An import takes longer than the rest of a server's start. `python -m tests.support.forge` is the process that forks.
"""

import atexit
import contextlib
import gc
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from baton.cli.commands import COMMANDS
from baton.engine.policy.load import load
from baton.engine.policy.rules.layers import Layer
from baton.shared import policy_folders

ROOT = Path(__file__).parents[2]


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
    """The process that forks, as its user sees it; started when it is first needed."""

    def __init__(self):
        self._process = None
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
        if self._process is None:
            command = [sys.executable, "-m", "tests.support.forge"]
            self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()
            atexit.register(self.stop)
        files = [str(given), str(out), str(err)]
        order = {"arguments": list(map(str, arguments)), "env": env, "files": files, "cwd": str(cwd)}
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        with self._changed:
            assert self._changed.wait_for(lambda: self._started, timeout=60), "the forge does not answer"
            return Forked(self._started.pop(), self)

    def stop(self):
        self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
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


def _fork(order):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        _become(order)
        from baton.cli.main import main as baton  # noqa: PLC0415

        baton()
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does with what nobody catches
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    raise AssertionError


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
    random.seed()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = ["baton", *order["arguments"]]


def main():
    """Fork for each order on standard input; tell on standard output who started, and who ended how."""
    for name in ("baton.main", "baton.kernel.http.server", "baton.serve.workers", "baton.kernel.base.logs"):
        __import__(name)
    for command in COMMANDS.values():
        __import__(command.where.partition(":")[0])
    # The shell tables stay in memory for whoever loads them next, and reading them is a third of a server's start.
    load([Layer(tier="shipped", files=policy_folders.read(policy_folders.shipped()))])
    gc.collect()
    gc.freeze()
    waking, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    watched = selectors.DefaultSelector()
    watched.register(0, selectors.EVENT_READ)
    watched.register(waking, selectors.EVENT_READ)
    rest = b""
    while True:
        for key, _ in watched.select():
            if key.fd == waking:
                os.read(waking, 1024)
                _tell_ends()
                continue
            given = os.read(0, 1 << 20)
            if not given:
                return
            *lines, rest = (rest + given).split(b"\n")
            for line in lines:
                _tell(pid=_fork(json.loads(line)))


def _tell_ends():
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            _tell(pid=ended[0], status=os.waitstatus_to_exitcode(ended[1]))


def _tell(**what):
    os.write(1, json.dumps(what).encode() + b"\n")


forge = Forge()

if __name__ == "__main__":
    main()
