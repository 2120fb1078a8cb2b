"""Shows the runner's jobs in the terminal: a line for each, kept up to date, and a line for each event."""

import contextlib
import time
from collections.abc import Iterable
from typing import TextIO

from baton.runner.job import Job

_WIDTH = 110


class Progress:
    """Writes to a terminal, with the jobs' lines at the bottom; to a file it writes events only, line by line."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self._live = out.isatty()
        self._shown = 0

    def say(self, text: str) -> None:
        """Write a line that stays."""
        with contextlib.suppress(OSError):  # a log on a full disk
            self._erase()
            self.out.write(f"{time.strftime('%H:%M:%S')}  {plain(text)}\n")
            self.out.flush()

    def show(self, jobs: Iterable[Job]) -> None:
        """Rewrite the lines of the running jobs."""
        if not self._live:
            return
        with contextlib.suppress(OSError):
            self._erase()
            lines = [line(job)[:_WIDTH] for job in jobs]
            self.out.write("".join(f"{one}\n" for one in lines))
            self.out.flush()
            self._shown = len(lines)

    def _erase(self) -> None:
        if self._shown:
            self.out.write(f"\x1b[{self._shown}F\x1b[J")
            self._shown = 0


def line(job: Job) -> str:
    """Return a job's line: id, provider, workspace, age in seconds, number of events, what it is doing."""
    lease = job.lease
    age = int(time.monotonic() - job.started)
    note = "waiting for disk" if job.waits_for_disk else plain(job.note)
    return f"  {lease.job[:12]}  {lease.provider} in {lease.workspace}  {age} s  {job.events} events  {note}"


def plain(text: str) -> str:
    """Replace control characters: an agent's text is shown, and must not control the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)
