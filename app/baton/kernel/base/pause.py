"""Pauses that end early when the server stops."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait for some seconds, or until `stop` is set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


async def tick(seconds: float, *events: asyncio.Event) -> None:
    """Wait for the next multiple of some seconds, or for an event. So the timers of a process wake it together."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    rest = seconds - asyncio.get_running_loop().time() % seconds
    try:
        await asyncio.wait(waits, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def end_with(work: Callable[[], Coroutine[Any, Any, object]], stop: asyncio.Event) -> None:
    """Do work, and cancel it when `stop` is set."""
    doing, ended = asyncio.create_task(work()), asyncio.create_task(stop.wait())
    ended.add_done_callback(lambda _: doing.cancel())
    try:
        await doing
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
    finally:
        ended.cancel()


log = logging.getLogger(__name__)

AGAIN_S = 1.0  # pause before failed work restarts, in seconds


async def keep_up(work: Callable[[asyncio.Event], Coroutine[None, None, None]], stop: asyncio.Event) -> None:
    """Run work until `stop` is set or the work returns. Log failures and restart it."""
    while not stop.is_set():
        try:
            await work(stop)
        except Exception:
            log.exception("`%s` failed; it is restarted", work.__qualname__)
            await pause(stop, AGAIN_S)
        else:
            return
