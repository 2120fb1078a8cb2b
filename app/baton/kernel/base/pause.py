"""Waiting that ends early when the server stops."""

import asyncio
import contextlib


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait for some seconds, or until `stop` is set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
