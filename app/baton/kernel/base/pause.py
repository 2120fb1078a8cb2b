"""Waiting that ends when the server does. It starts no work."""

import asyncio
import contextlib


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until told to stop."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
