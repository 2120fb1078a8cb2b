"""Keeps work going while the server runs: what falls over is logged and begun anew."""

import asyncio
import logging
from collections.abc import Callable, Coroutine

from baton.kernel.base.pause import pause

log = logging.getLogger(__name__)

AGAIN_S = 1.0
"""How long after it fell over work is begun anew, in seconds."""


async def keep_up(work: Callable[[asyncio.Event], Coroutine[None, None, None]], stop: asyncio.Event) -> None:
    """Do work that goes on until it is told to stop, or has nothing to do."""
    while not stop.is_set():
        try:
            await work(stop)
        except Exception:
            log.exception("`%s` fell over; it is begun anew", work.__qualname__)
            await pause(stop, AGAIN_S)
        else:
            return
