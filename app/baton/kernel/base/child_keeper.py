"""Keep a child process running: start it, restart it when it ends, stop it cleanly."""

import asyncio
import contextlib
import logging
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from baton.kernel.base.logs import ended as ended_how
from baton.kernel.base.pause import pause
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

LOOK_S = 0.1
"""Pause between looks at the child where the system does not notify, in seconds."""
SURE_S = 5.0
"""The same where it does, in seconds."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0  # minimum and maximum pause before a restart, in seconds. Pauses double.
SETTLED_S = 60.0  # a child that ran this long resets the pause to the minimum, in seconds

Child = subprocess.Popen[bytes]


def spawn(command: Sequence[str], *, order: bytes = b"", **options: Any) -> Child:
    """Start a process in its own session, so that Ctrl-C reaches only the server.

    `order` is written to its standard input, which then stays open: unlike arguments, secrets in it show in no process
    list. `options` are those of `subprocess.Popen`. Raise OSError if the process cannot be started.
    """
    stdin = subprocess.PIPE if order else subprocess.DEVNULL
    child = subprocess.Popen(command, stdin=stdin, bufsize=0, start_new_session=True, **options)
    if child.stdin is not None:
        # The child was killed before it could read. The keeper notices its end as usual.
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(order)
    return child


@contextlib.contextmanager
def _end_of(child: Child) -> Iterator[tuple[asyncio.Event, float]]:
    """Yield an event that is set when the child ends, and how often to look at the child nonetheless, in seconds."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # not Linux, or it has ended
        yield ended, LOOK_S
        return
    loop.add_reader(descriptor, ended.set)
    try:
        yield ended, SURE_S
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


class ChildKeeper:
    """One child and its successors. `start` starts one (see `spawn`); `last_words` returns text for the log.

    Linux notifies of the child's end; elsewhere the child is polled. asyncio's subprocesses are not used: under uvloop a
    write to a child that has just been killed raises RuntimeError, and a keeper that this ends leaves the child dead for good.

    Args:
        name: Names the child in the log.
        start: Starts a process; see `spawn`.
        last_words: Returns what the log adds when the child ended by itself.
        on_end: Called with the process id of each child that has ended.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Child],
        *,
        last_words: Callable[[], str] = str,
        on_end: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._name = name
        self._start = start
        self._last_words = last_words
        self._on_end = on_end
        self._child: Child | None = None
        self._started_at = 0.0
        self._watcher: asyncio.Task[None] | None = None
        self.restarts = 0  # number of restarts

    @property
    def pid(self) -> int | None:
        """The child's process id, or None."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self) -> None:
        """Start the child, in the main thread: Linux binds the death signal to it. Raise OSError on failure."""
        self._forget()
        self._started_at = time.monotonic()
        self._child = self._start()

    def watch(self) -> None:
        """Restart the child whenever it ends, until `stop`."""
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def wait(self) -> int | None:
        """Wait for the child's end and return its status, None if there is no child."""
        child = self._child
        if child is None:
            return None
        with _end_of(child) as (ended, look_s):
            while child.poll() is None:
                await pause(ended, look_s)
        return child.returncode

    async def stop(self, ask: Callable[[Child], None] = subprocess.Popen.terminate, *, within_s: float) -> bool:
        """End the child by `ask`, and stop watching it. Return False if it was killed after `within_s` seconds."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
        if self._child is None:
            return True
        in_time = True
        if self._child.poll() is None:
            ask(self._child)
            try:
                async with asyncio.timeout(within_s):
                    await self.wait()
            except TimeoutError:
                in_time = False
                self._child.kill()
                await self.wait()
        self._forget()
        return in_time

    async def _watch(self) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            status = await self.wait()
            if time.monotonic() - self._started_at > SETTLED_S:
                backoff.reset()
            log.error("%s %s; starting it again.%s", self._name, ended_how(status), self._last_words())
            self._forget()
            await asyncio.sleep(backoff.next_s())
            self.restarts += 1
            try:
                self.start()
            except OSError:
                log.exception("%s cannot be started", self._name)

    def _forget(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        if child.stdin is not None:
            child.stdin.close()
        self._on_end(child.pid)
