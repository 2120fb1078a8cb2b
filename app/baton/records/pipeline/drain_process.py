"""Keeps the drain, the process that stores records, running beside the server.

SQL in the server's own process would cost each call a third more of its one core.
"""

import logging
import subprocess
import sys

import msgspec

from baton.kernel.base.child_keeper import Child, ChildKeeper, spawn
from baton.kernel.base.settings import Settings
from baton.records.pipeline.drain_main import Order

log = logging.getLogger(__name__)

STOP_S = 5.0
"""How long the drain may take to store what is in the stream, in seconds; the rest stays there."""


class DrainProcess:
    """The drain, started again when it ends.

    The end of its standard input tells it to store what is left and leave: when the server stops, and also when the
    server is killed.
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
        self._keeper = ChildKeeper("the process that stores records", self._spawn)

    def start(self) -> None:
        """Start the drain and keep it running; return before it works.

        Raises:
            OSError: If it cannot be started.
        """
        self._keeper.start()
        self._keeper.watch()

    async def stop(self) -> None:
        """Let the drain store what is in the stream, for at most five seconds, and end it."""
        if not await self._keeper.stop(_close_stdin, within_s=STOP_S):
            log.warning("stopping before every record is in the database; the rest waits in the stream")

    def _spawn(self) -> Child:
        command = [sys.executable, "-P", "-m", "baton.records.pipeline.drain_main"]
        # What the drain prints would mix with what the server prints; it logs to standard error.
        return spawn(command, order=self._order, stdout=subprocess.DEVNULL)


def _close_stdin(child: Child) -> None:
    assert child.stdin is not None  # noqa: S101 - `spawn` opens it for the order
    child.stdin.close()
