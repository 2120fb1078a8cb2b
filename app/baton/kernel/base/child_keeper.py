"""Keeps a child process running: starts it, starts it again when it ends, and ends it in order."""

import asyncio
import contextlib
import logging
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

from baton.kernel.base.logs import ended
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

LOOK_S = 0.1
"""Pause between looks at the child, in seconds."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
"""Pauses before a restart double from the one to the other, in seconds."""
SETTLED_S = 60.0
"""A child that ran this long is started again after the first pause, in seconds."""

Child = subprocess.Popen[bytes]


def spawn(command: Sequence[str], *, order: bytes = b"", **options: Any) -> Child:
    """Start a process in a session of its own, so that Ctrl-C reaches the server alone.

    `order` goes to its standard input, which then stays open: it is for what others must not see in a list of
    processes, such as a database's password. `options` are those of `subprocess.Popen`.

    Raises:
        OSError: If it cannot be started.
    """
    stdin = subprocess.PIPE if order else subprocess.DEVNULL
    child = subprocess.Popen(command, stdin=stdin, bufsize=0, start_new_session=True, **options)
    if child.stdin is not None:
        # A child that was killed before it could read is noticed by its end, like any other.
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(order)
    return child


class ChildKeeper:
    """One child and its successors.

    The child is polled. asyncio's subprocesses tell of an end at once, but under uvloop a write to a child that has
    just been killed raises RuntimeError, and a keeper that this ends leaves the child dead for good.

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
        self.restarts = 0
        """How often the child was started again."""

    @property
    def pid(self) -> int | None:
        """The child's process id, None while none runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self) -> None:
        """Start the child. Call it from the main thread: Linux's death signal is bound to the thread that forks.

        Raises:
            OSError: If it cannot be started.
        """
        self._forget()
        self._started_at = time.monotonic()
        self._child = self._start()

    def watch(self) -> None:
        """Start the child again whenever it ends, from now on until `stop`."""
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def wait(self, look_s: float = LOOK_S) -> int | None:
        """Wait for the child's end and return its status, None if there is no child."""
        while self._child is not None and self._child.poll() is None:  # noqa: ASYNC110 - nothing tells of the end
            await asyncio.sleep(look_s)
        return None if self._child is None else self._child.returncode

    async def stop(self, ask: Callable[[Child], None] = subprocess.Popen.terminate, *, within_s: float) -> bool:
        """End the child and stop watching it.

        Args:
            ask: Asks the child to leave.
            within_s: How long it may take, in seconds; then it is killed.

        Returns:
            False if it had to be killed.
        """
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
                    await self.wait(look_s=0.01)
            except TimeoutError:
                in_time = False
                self._child.kill()
                await self.wait(look_s=0.01)
        self._forget()
        return in_time

    async def _watch(self) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            status = await self.wait()
            if time.monotonic() - self._started_at > SETTLED_S:
                backoff.reset()
            log.error("%s %s; starting it again.%s", self._name, ended(status), self._last_words())
            self._forget()
            await asyncio.sleep(backoff.next_s())
            self.restarts += 1
            try:
                self.start()
            except OSError:
                log.exception("%s cannot be started", self._name)

    def _forget(self) -> None:
        """Release what is held of a child that has ended."""
        child, self._child = self._child, None
        if child is None:
            return
        if child.stdin is not None:
            child.stdin.close()
        self._on_end(child.pid)
