"""The process of the drain: `python -m baton.records.pipeline.drain_main`, with an `Order` as one line on stdin.

The server starts it; it ends when its standard input ends.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import uvloop

from baton.events.log import Log
from baton.events.sinks.sinks import Sinks, SinksOrder
from baton.kernel.base import logs
from baton.kernel.base.driver import DriverTarget, driver
from baton.kernel.redis.client import Redis
from baton.records.pipeline.drain import Drain
from baton.records.pipeline.spool import Spool
from baton.records.pipeline.telemetry import Telemetry, TelemetryOrder
from baton.rules.call.record import Record

TIMEOUT_S = 5.0
"""Longest wait for Redis, in seconds."""
NICE = 10
"""Niceness of the process: agents wait for the server's answers, nobody waits for the drain."""
FINISH_S = 5.0
"""Longest time that it goes on storing once it is told to end, in seconds."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The source and the destination of records, and the server's logging."""

    redis_url: str
    target: DriverTarget
    spool: str
    """The folder for records while the database is unavailable for long."""
    most_in_spool: int
    most_in_log: int
    """Bytes that the spool and the log may hold."""
    most_age_s: float
    """Age at which stored entries leave the log, in seconds."""
    sinks: SinksOrder | None
    """Where events are sent, None where they are switched off."""
    telemetry: TelemetryOrder | None
    """Where spans are sent, None where no collector is configured."""
    log_level: Literal["debug", "info", "warning", "error"]
    log_format: Literal["text", "json"]


async def run(order: Order) -> None:
    """Store records and send events until standard input ends or SIGTERM comes, then the rest for at most five seconds."""
    redis = Redis(order.redis_url, timeout_s=TIMEOUT_S)
    writer = driver(order.target)
    await redis.start()
    loop = asyncio.get_running_loop()
    # A connection of its own: the drain waits in Redis.
    other = Redis(order.redis_url, timeout_s=TIMEOUT_S)
    await other.start()
    spool = Spool(Path(order.spool), order.most_in_spool)
    telemetry = None if order.telemetry is None else _telemetry(other, order.telemetry)
    sinks = None if order.sinks is None else Sinks(other, order.sinks)

    def stored(records: Sequence[Record]) -> None:
        if telemetry is not None:
            telemetry.export(records)
        if sinks is not None:
            sinks.wake()

    drain = Drain(
        Log(redis),
        writer,
        order.target.dialect,
        spool,
        most_bytes=order.most_in_log,
        most_age_s=order.most_age_s,
        on_stored=stored,
    )
    beside: list[Sinks | Telemetry] = [one for one in (telemetry, sinks) if one is not None]
    work = asyncio.gather(drain.run(), *(one.run() for one in beside))

    def finish() -> None:
        loop.remove_reader(sys.stdin.fileno())
        drain.finish()
        for one in beside:
            one.finish()
        loop.call_later(FINISH_S, work.cancel)

    loop.add_signal_handler(signal.SIGTERM, finish)
    loop.add_reader(sys.stdin.fileno(), finish)
    with contextlib.suppress(asyncio.CancelledError):
        await work
    await redis.close()
    await other.close()
    await writer.close()
    spool.close()


def _telemetry(redis: Redis, order: TelemetryOrder) -> Telemetry:
    # Imported only here: it takes half a second, and is an extra.
    from baton.records.pipeline.otlp import Otlp  # noqa: PLC0415

    return Telemetry(redis, Otlp(order))


def main() -> None:
    """Read the order and run the drain.

    SIGINT is ignored: Ctrl-C reaches the whole process group, and the server ends the drain when it is ready to.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICE)
    line = sys.stdin.buffer.readline()
    if not line:  # the server is gone already
        return
    order = msgspec.json.decode(line, type=Order)
    logs.configure(order.log_level, order.log_format)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(order))


if __name__ == "__main__":
    main()
