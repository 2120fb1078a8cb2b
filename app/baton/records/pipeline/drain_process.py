"""Keeps the process that stores records running beside the server. It stores nothing: `drain_main` in there does.

SQL in the server's own process would cost each call a third more of its one core.
"""

import asyncio
import contextlib
import logging
import subprocess
import sys
import time
from asyncio.subprocess import Process
from typing import cast

import msgspec

from baton.kernel.base.logs import ended
from baton.kernel.base.settings import Settings
from baton.records.pipeline.drain_main import Order

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
"""Pauses between restarts double from the one to the other, in seconds; a child that ran a minute starts anew at the shortest."""
STOP_S = 5.0
"""Longest wait for the child to have stored what is in the stream, in seconds; the rest stays there."""
_SETTLED_S = 60.0


class DrainProcess:
    """One child, started again when it ends.

    It runs in a session of its own, so that Ctrl-C reaches the server alone. The end of its standard input tells it
    to store what is left and leave: when the server stops, and also when the server is killed.
    """

    def __init__(self, settings: Settings, redis_url: str) -> None:
        order = Order(
            redis_url=redis_url,
            home=str(settings.home.absolute()),
            database_url=settings.database_url,
            log_level=settings.log_level,
            log_format=settings.log_format,
        )
        self._order = msgspec.json.encode(order) + b"\n"
        self._process: Process | None = None
        self._watcher: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the child and keep it running from then on; nobody waits until it works."""
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        """Have the child store what is in the stream, for at most five seconds, and end it."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
        if self._process is None or self._process.returncode is not None:
            return
        cast("asyncio.StreamWriter", self._process.stdin).close()
        try:
            async with asyncio.timeout(STOP_S):
                await self._process.wait()
        except TimeoutError:
            log.warning("stopping before every record is in the database; the rest waits in the stream")
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _spawn(self) -> Process:
        """Start the child; its order goes to its standard input: a database's URL may hold a password."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "baton.records.pipeline.drain_main"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        cast("asyncio.StreamWriter", process.stdin).write(self._order)
        return process

    async def _watch(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            started, status = time.monotonic(), None
            try:
                self._process = await self._spawn()
                status = await self._process.wait()
            except OSError:
                log.exception("the process that stores records cannot be started")
            pause = FIRST_PAUSE_S if time.monotonic() - started > _SETTLED_S else pause
            log.error("the process that stores records %s; starting it again", ended(status))
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
