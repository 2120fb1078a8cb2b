"""The process of the drain: `python -m baton.records.pipeline.drain_main`, with an `Order` as one line on stdin.

The server starts it; it ends when its standard input ends.
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Literal

import msgspec
import uvloop

from baton.events.courier import Courier, CourierOrder
from baton.events.sinks.sinks import Sinks
from baton.kernel.base import logs
from baton.kernel.base.driver import DriverTarget, driver
from baton.kernel.redis.client import Redis
from baton.records.pipeline.drain import Drain
from baton.records.pipeline.spool import Spool
from baton.records.pipeline.stream import RecordStream
from baton.records.pipeline.telemetry import Telemetry, TelemetryOrder

TIMEOUT_S = 5.0
"""Longest wait for Redis, in seconds."""
NICE = 10
"""Niceness of the process: agents wait for the server's answers, nobody waits for the drain."""
FINISH_S = 5.0
"""Longest time that it goes on storing once it is told to end, in seconds."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Where records come from and where they are stored, and how the server logs."""

    redis_url: str
    target: DriverTarget
    spool: str
    """The folder for records while the database is away for long."""
    most_in_spool: int
    most_in_stream: int
    """Bytes of records that the spool may hold, and that may wait in Redis."""
    courier: CourierOrder | None
    """How events are published, None where they are switched off."""
    telemetry: TelemetryOrder | None
    """Where spans are sent, None where no collector is configured."""
    log_level: Literal["debug", "info", "warning", "error"]
    log_format: Literal["text", "json"]


async def run(order: Order) -> None:
    """Store records and publish events until standard input ends or SIGTERM comes, then what is left for at most five seconds."""
    redis = Redis(order.redis_url, timeout_s=TIMEOUT_S)
    writer = driver(order.target)
    await redis.start()
    loop = asyncio.get_running_loop()
    # A connection of its own: both wait in Redis, and neither may wait for the other.
    bus = Redis(order.redis_url, timeout_s=TIMEOUT_S)
    await bus.start()
    spool = Spool(Path(order.spool), order.most_in_spool)
    telemetry = None if order.telemetry is None else _telemetry(bus, order.telemetry)
    drain = Drain(
        RecordStream(redis),
        writer,
        order.target.dialect,
        spool,
        most_in_stream=order.most_in_stream,
        on_stored=(lambda _: None) if telemetry is None else telemetry.put,
    )
    publishing: list[Courier | Sinks | Telemetry] = [] if telemetry is None else [telemetry]
    if order.courier is not None:
        publishing += [Courier(bus, order.courier), _sinks(order.redis_url, order.courier)]
    work = asyncio.gather(drain.run(), *(one.run() for one in publishing))

    def finish() -> None:
        loop.remove_reader(sys.stdin.fileno())
        drain.finish()
        for one in publishing:
            one.finish()
        loop.call_later(FINISH_S, work.cancel)

    loop.add_signal_handler(signal.SIGTERM, finish)
    loop.add_reader(sys.stdin.fileno(), finish)
    with contextlib.suppress(asyncio.CancelledError):
        await work
    await redis.close()
    await bus.close()
    await writer.close()
    spool.close()


def _sinks(redis_url: str, order: CourierOrder) -> Sinks:
    return Sinks(redis_url, order.sinks, prefix=order.prefix, names=order.names, without=order.without)


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
