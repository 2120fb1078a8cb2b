"""What every feature is built on: settings, Redis, SQL, changes, and work that goes on while the server runs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress

from baton.kernel.base.background import keep_up
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import Redis


class Kernel:
    """The parts that features share. What is started last is stopped first."""

    def __init__(self, settings: Settings, redis_url: str, stack: AsyncExitStack) -> None:
        self._stack = stack
        self.settings = settings
        self.organisation = settings.organisation
        self.redis_url = redis_url
        self.redis = Redis(redis_url, timeout_s=settings.redis_timeout_ms / 1000)
        self.database = Database(settings)
        self.changes = Changes(self.redis, self.database, settings.organisation)

    async def start(self) -> None:
        """Connect to Redis, in the background where it is away; SQL connects with the first query."""
        await self.redis.start()
        self.on_stop(self.redis.close)
        self.on_stop(self.database.close)

    def on_stop(self, close: Callable[[], Awaitable[None]]) -> None:
        """Await `close` when the server stops, before everything that was registered earlier."""
        self._stack.push_async_callback(close)

    def run(self, work: Callable[[asyncio.Event], Coroutine[None, None, None]]) -> None:
        """Run `work` until the server stops, and again when it fails; it gets the event that tells it to end."""
        stop = asyncio.Event()
        task = asyncio.create_task(keep_up(work, stop))

        async def end() -> None:
            stop.set()
            with suppress(asyncio.CancelledError):
                await task

        self.on_stop(end)
