"""What the person at the terminal sees: a line a job, kept up to date, and a line for what happened. It reads no job's text."""

import time
from collections.abc import Iterable
from typing import TextIO

from baton.runner.job import Job

_WIDTH = 110


class Progress:
    """Writes to a terminal, where the jobs' lines stay at the bottom; elsewhere only what happened, line by line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = out.isatty()
        self._shown = 0

    def say(self, text: str) -> None:
        """Write a line that stays."""
        self._erase()
        self._out.write(f"{time.strftime('%H:%M:%S')}  {plain(text)}\n")
        self._out.flush()

    def show(self, jobs: Iterable[Job]) -> None:
        """Write the running jobs' lines anew."""
        if not self._live:
            return
        self._erase()
        lines = [line(job)[:_WIDTH] for job in jobs]
        self._out.write("".join(f"{one}\n" for one in lines))
        self._out.flush()
        self._shown = len(lines)

    def _erase(self) -> None:
        if self._shown:
            self._out.write(f"\x1b[{self._shown}F\x1b[J")
            self._shown = 0


def line(job: Job) -> str:
    """Say how a job stands: id, provider, workspace, its age in seconds, how much it said, what it is at."""
    lease = job.lease
    age = int(time.monotonic() - job.started)
    return f"  {lease.job[:12]}  {lease.provider} in {lease.workspace}  {age} s  {job.events} events  {plain(job.note)}"


def plain(text: str) -> str:
    """Take out what would steer the terminal: an agent's words are shown, not obeyed."""
    return "".join(c if c.isprintable() else " " for c in text)
