"""Runs one command, and ends its whole process tree with the runner, however that ended.

`python -I -S supervisor.py LIFE PROGRAM ARGUMENT…`: LIFE is the read end of a pipe held open by the runner. Its end of
file, SIGTERM, or the program's end ends the rest of the tree: SIGTERM first, SIGKILL after a second. A guard and its
child supervise, so that either one ends the tree if the other is killed. Standard library only.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE_S = 1.0
_DEATH_SIGNAL = 1  # Linux's PR_SET_PDEATHSIG: the signal at the parent's death
_SUBREAPER = 36  # Linux's PR_SET_CHILD_SUBREAPER: orphans of the tree become children of this process


def main() -> int:
    """Run the program until it or the runner ends. Return its exit status."""
    life, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(life, False)  # noqa: FBT003 - passed to this process; the agent must not hold it
    guarded, guard = os.pipe()
    _prctl(_SUBREAPER, 1)
    supervisor = os.fork()
    if supervisor:
        os.close(life)
        os.close(guarded)
        _let_go_of_pipes()
        return _guard(supervisor)
    os.close(guard)
    _prctl(_SUBREAPER, 1)
    return _supervise(life, guarded, command)


def _guard(supervisor: int) -> int:
    """Wait for the supervisor. If it was killed, end its orphans."""
    status: int | None = None
    while status is None:
        pid, ended = os.waitpid(-1, 0)
        if pid == supervisor:
            status = os.waitstatus_to_exitcode(ended)
    if status < 0:
        _end_tree(supervisor)
    return status if status >= 0 else 128 - status


def _supervise(life: int, guarded: int, command: list[str]) -> int:
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    ending: list[int] = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
    program = _start(command)
    _let_go_of_pipes()
    status: int | None = None
    while status is None and not ending:
        ready, _, _ = select.select([life, guarded, woken], [], [])
        if life in ready or guarded in ready:
            status = _reaped(program)  # the runner may have seen the program's end first
            break
        os.read(woken, 4_096)
        status = _reaped(program)
    _end_tree(program)
    return 128 + signal.SIGTERM if status is None else status


def _let_go_of_pipes() -> None:
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):  # only the program holds the pipes to the runner
        os.dup2(quiet, number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(command: list[str]) -> int:
    parent, program = os.getpid(), os.fork()
    if program:
        return program
    _prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before the line above
        os._exit(127)
    for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell intended
    except OSError as error:
        os.write(2, f"cannot start `{command[0]}`: {error.strerror}\n".encode())
    os._exit(127)


def _reaped(program: int) -> int | None:
    """Reap ended processes. Return the program's exit status, if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if pid == program:
                code = os.waitstatus_to_exitcode(status)
                found = code if code >= 0 else 128 - code
    return found


def _end_tree(program: int) -> None:
    end = time.monotonic() + GRACE_S
    _signal_all(signal.SIGTERM)
    while _tree() and time.monotonic() < end:
        time.sleep(0.02)
        _reaped(program)
    while _tree():
        _signal_all(signal.SIGKILL)
        time.sleep(0.01)
        _reaped(program)


def _signal_all(number: int) -> None:
    for pid in _tree():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _tree() -> list[int]:
    """List all descendants, including those outside the process group."""
    children: dict[int, list[int]] = {}
    for pid, parent in _processes():
        children.setdefault(parent, []).append(pid)
    found, next_ones = [], [os.getpid()]
    while next_ones:
        below = children.get(next_ones.pop(), [])
        found += below
        next_ones += below
    return found


def _processes() -> list[tuple[int, int]]:
    if sys.platform != "linux":
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        pairs = (line.split() for line in listed.splitlines())
        return [(int(pid), int(parent)) for pid, parent in pairs]
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    found.append((int(entry.name), int(parent)))
    return found


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main())
