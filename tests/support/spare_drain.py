"""A spare process of a forked server for its drain.

Its imports take longer than the rest of its start, too. It is forked before the server has a thread or a file, waits as
its child, and gets the arguments of `subprocess.Popen`. A replacement of an ended one is started from nothing. So are
workers: prometheus-client decides at import whether metrics are shared, and the forge imports it for servers without
sharing.
"""

import contextlib
import ctypes
import fcntl
import importlib
import json
import os
import socket
import subprocess
import sys
import threading

from baton.records.pipeline import drain_process

_NAME = 15
"""Bytes of the name that Linux gives a process."""
_PR_SET_NAME = 15
_BEYOND = 200
"""Descriptors from here on are nobody's yet."""


class Spare(subprocess.Popen):
    """A child that was there before."""

    def __init__(self, pid, command, stdin, stdout):
        self.args, self.pid, self.returncode = command, pid, None
        self.stdin, self.stdout, self.stderr = stdin, stdout, None
        self._child_created, self._waitpid_lock = True, threading.Lock()


class SpareDrain:
    """The process at hand, as the server sees it."""

    def __init__(self):
        self._waiting, theirs = socket.socketpair()
        self._pid = os.fork()
        if not self._pid:
            self._waiting.close()
            exit_after(lambda: _wait(theirs))
        theirs.close()

    def spawn(self, command, *, order, stdout, pass_fds=()):
        """Start a process as `baton.kernel.base.child_keeper.spawn` does."""
        if self._waiting is None:
            return _from_nothing(command, order=order, stdout=stdout, pass_fds=pass_fds)
        waiting, self._waiting = self._waiting, None
        read, stdin = os.pipe()
        said, write = os.pipe() if stdout == subprocess.PIPE else (None, os.open(os.devnull, os.O_WRONLY))
        told = {"module": command[-1], "places": [0, 1, *pass_fds]}
        with waiting:
            socket.send_fds(waiting, [json.dumps(told).encode()], [read, write, *pass_fds])
        os.close(read)
        os.close(write)
        child = Spare(self._pid, command, os.fdopen(stdin, "wb", 0), None if said is None else os.fdopen(said, "rb", 0))
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(order)
        return child


_from_nothing = drain_process.spawn


def keep_spare_drain():
    """Fork a process for the drain of the server that this one becomes."""
    drain_process.spawn = SpareDrain().spawn


def _wait(server):
    """Become what the server asks for; end when it has ended without."""
    os.setsid()
    told, given, _, _ = socket.recv_fds(server, 4_096, 64)
    server.close()
    if told:
        _become(**json.loads(told), given=given)


def exit_after(work):
    status = 1
    try:
        work()
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


def _become(module, places, given):
    beyond = [fcntl.fcntl(one, fcntl.F_DUPFD, _BEYOND) for one in given]
    for one in given:
        os.close(one)
    for one, place in zip(beyond, places, strict=True):
        os.dup2(one, place)
        os.close(one)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - as long as the process
    ctypes.CDLL(None).prctl(_PR_SET_NAME, module.encode()[-_NAME:], 0, 0, 0)  # others find it by that
    importlib.import_module(module).main()
