"""Inspects processes, even ending ones. It starts and ends none."""

import contextlib
from pathlib import Path

import psutil


def is_gone(pid):
    """Return whether nothing of a process runs any more, reaped or not; `pid` may be a `psutil.Process`."""
    try:
        process = pid if isinstance(pid, psutil.Process) else psutil.Process(pid)
        return not process.is_running() or process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return True


def children(pid, *, called):
    """Return the processes below one whose command line or name has a text."""
    found = []
    for child in descendants(pid):
        with contextlib.suppress(psutil.Error):  # one that ends while it is looked at
            if any(called in word for word in (child.name(), *child.cmdline())):
                found.append(child)
    return found


def descendants(pid):
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def waits(process):
    """Return how often the threads of a process have waited: each wait ends with a wake-up."""
    states = ((one / "status").read_text() for one in Path(f"/proc/{process.pid}/task").iterdir())
    return sum(int(state.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for state in states)
