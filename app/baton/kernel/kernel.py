"""What every feature is built on: settings, Redis, SQL, changes, and work that goes on while the server runs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress

from baton.kernel.base.background import keep_up
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.http.peer import PeerLooks
from baton.kernel.redis.client import Redis

Work = Callable[[asyncio.Event], Coroutine[None, None, None]]
"""Goes on until the event is set."""


class Kernel:
    """The parts that features share. What was registered last is stopped first."""

    def __init__(
        self, settings: Settings, redis: Redis, database: Database, stack: AsyncExitStack, peers: PeerLooks
    ) -> None:
        self.settings = settings
        self.organisation = settings.organisation
        self.redis = redis
        self.database = database
        self.peers = peers
        self.changes = Changes(redis, database, settings.organisation)
        self._stack = stack
        self._background: list[Work] = []

    def on_stop(self, close: Callable[[], Awaitable[None]]) -> None:
        """Await `close` when the server stops, before everything that was registered earlier."""
        self._stack.push_async_callback(close)

    def run(self, work: Work) -> None:
        """Run `work` from `begin` until the server stops, and again whenever it fails."""
        self._background.append(work)

    def begin(self) -> None:
        """Start the background work, once every feature is built: it may call any of them."""
        for work in self._background:
            self._begin(work)

    def _begin(self, work: Work) -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(keep_up(work, stop))

        async def end() -> None:
            stop.set()
            with suppress(asyncio.CancelledError):
                await task

        self.on_stop(end)
