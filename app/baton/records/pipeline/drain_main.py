"""The process that brings records from the stream into SQL: `python -m baton.records.pipeline.drain_main`, an order on stdin.

It answers nobody; the server starts it, and it leaves once its standard input ends.
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

from baton.kernel.base import logs
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.redis.client import Redis
from baton.records.pipeline.drain import Drain
from baton.records.pipeline.stream import Outbox

TIMEOUT_S = 5.0
"""Longest wait for Redis, in seconds."""
NICE = 10
"""How far it stands back when the processors are busy: agents wait for answers, nobody for this."""
FINISH_S = 5.0
"""Longest that it goes on once it is told to leave, in seconds."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to store from where to where; each as in the settings of the server."""

    redis_url: str
    home: str
    database_url: str
    log_level: Literal["debug", "info", "warning", "error"]
    log_format: Literal["text", "json"]


async def run(order: Order) -> None:
    """Store until standard input ends or a SIGTERM comes; then what is left, for a while."""
    redis = Redis(order.redis_url, timeout_s=TIMEOUT_S)
    database = Database(Settings(home=Path(order.home), database_url=order.database_url))
    await redis.start()
    drain = Drain(Outbox(redis), database)
    loop = asyncio.get_running_loop()
    work = loop.create_task(drain.run())

    def finish() -> None:
        loop.remove_reader(sys.stdin.fileno())
        drain.finish()
        loop.call_later(FINISH_S, work.cancel)

    loop.add_signal_handler(signal.SIGTERM, finish)
    loop.add_reader(sys.stdin.fileno(), finish)
    with contextlib.suppress(asyncio.CancelledError):
        await work
    await redis.close()
    await database.close()


def main() -> None:
    """Take the order and carry it out."""
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
