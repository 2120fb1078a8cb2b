"""Keeps the drain's process running for the server.

In the server's own process, SQL would make each call cost a third more of its one core.
"""

import logging
import socket
import subprocess
import sys

import msgspec

from baton.events.sinks.sinks import SinksOrder
from baton.kernel.base.child_keeper import Child, ChildKeeper, spawn
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import database_url, driver_target
from baton.records.pipeline.drain_main import Order
from baton.records.pipeline.telemetry import TelemetryOrder

log = logging.getLogger(__name__)

STOP_S = 5.0
"""How long the drain may go on when the server stops, in seconds; the rest waits in the log."""


class DrainProcess:
    """The drain as a child process, restarted at its end.

    Closing its standard input makes it store the rest and end. That also happens when the server is killed, so no drain
    outlives its server.
    """

    def __init__(self, settings: Settings, redis_url: str) -> None:
        order = Order(
            redis_url=redis_url,
            target=driver_target(database_url(settings)),
            spool=str((settings.home / "spool").absolute()),
            most_in_spool=settings.records_spool_mb << 20,
            most_in_log=settings.records_redis_mb << 20,
            most_age_s=settings.events_hours * 3_600,
            sinks=_sinks(settings),
            telemetry=_telemetry(settings),
            log_level=settings.log_level,
            log_format=settings.log_format,
        )
        self._order = msgspec.json.encode(order) + b"\n"
        self._keeper = ChildKeeper("the process that stores records", self._spawn)

    def start(self) -> None:
        """Start the drain and keep it running; return before it is ready.

        Raises:
            OSError: If it cannot be started.
        """
        self._keeper.start()
        self._keeper.watch()

    async def stop(self) -> None:
        """Let the drain store the log, for at most five seconds, and end it."""
        if not await self._keeper.stop(_close_stdin, within_s=STOP_S):
            log.warning("stopping before every record is in the database; the rest waits in the log")

    def _spawn(self) -> Child:
        command = [sys.executable, "-P", "-m", "baton.records.pipeline.drain_main"]
        # The drain's output would mix with the server's; it logs to standard error.
        return spawn(command, order=self._order, stdout=subprocess.DEVNULL)


def _sinks(settings: Settings) -> SinksOrder | None:
    if settings.events == "off":
        return None
    return SinksOrder(
        owner=f"{socket.gethostname()}:{settings.home.absolute()}",
        prefix=settings.events_prefix,
        names=dict(settings.events_topics),
        without=settings.events_without,
        file=str(settings.events_file.absolute()) if settings.events_file else "",
        kafka_url=settings.kafka_url.get_secret_value(),
        restricted=settings.events_restricted_out,
        internal_hosts=settings.webhook_hosts,
    )


def _telemetry(settings: Settings) -> TelemetryOrder | None:
    if not settings.otel_endpoint:
        return None
    pairs = (one.partition("=") for one in settings.otel_headers.get_secret_value().split(",") if one.strip())
    headers = {name.strip(): value.strip() for name, _, value in pairs}
    return TelemetryOrder(endpoint=settings.otel_endpoint, headers=headers)


def _close_stdin(child: Child) -> None:
    assert child.stdin is not None  # noqa: S101 - `spawn` opens it for the order
    child.stdin.close()
