"""Subscribes to one Redis channel on its own connection."""

import asyncio
import logging
from collections.abc import Callable

from redis.asyncio.connection import AbstractConnection

from baton.kernel.redis.connection import CONNECT_S, opened
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

SILENCE_S = 10.0  # silence before the connection is tested, in seconds
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0  # minimum and maximum pause between connection attempts, in seconds. Pauses double.


async def listen(
    url: str, channel: str, told: Callable[[bytes], None], lost: Callable[[], None] = lambda: None
) -> None:
    """Call `told` with each message, and with b"" after each connect, since messages may have been missed.

    `lost` is called when the connection is lost. Runs until cancelled.
    """
    backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
    while True:
        try:
            connection = await opened(url)
            try:
                await _subscribe(connection, channel)
                told(b"")
                backoff.reset()
                await _follow(connection, told)
            finally:
                lost()
                await connection.disconnect(nowait=True)
        except Exception as error:  # noqa: BLE001 - redis-py raises many kinds; `operate/health.py` logs outages
            log.debug("change notifications are unavailable, polling instead: %s", error)
        await asyncio.sleep(backoff.next_s())


async def _subscribe(connection: AbstractConnection, channel: str) -> None:
    async with asyncio.timeout(CONNECT_S):
        await connection.send_command("SUBSCRIBE", channel)
        await connection.read_response()


async def _follow(connection: AbstractConnection, told: Callable[[bytes], None]) -> None:
    while True:
        reply = await connection.read_response(timeout=SILENCE_S)
        if reply is None:
            async with asyncio.timeout(CONNECT_S):
                await connection.send_command("PING")
                reply = await connection.read_response()
        if reply[0] == b"message":
            told(reply[2])
