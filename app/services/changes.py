"""Tells every process of the team server what shared state has changed. It holds none of that state itself."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from app.store import changes as store
from app.store.redis import Redis
from app.store.sql import Database, DatabaseUnavailable

log = logging.getLogger(__name__)

POLL_S = 1.0
"""How often SQL is asked for changes that no message told of, in seconds."""


class Changes:
    """Reloads what another process has changed: told by Redis at once, and by SQL within a second."""

    def __init__(self, redis: Redis, database: Database, organisation: str) -> None:
        self._redis = redis
        self._database = database
        self._organisation = organisation
        self._reloads: dict[str, Callable[[], Awaitable[None]]] = {}
        self._seen: dict[str, int] = {}
        self._told = asyncio.Event()

    @property
    def channel(self) -> bytes:
        """The channel that changes are told on."""
        return f"baton:changed:{self._organisation}".encode()

    def on(self, kind: str, reload: Callable[[], Awaitable[None]]) -> None:
        """Have a kind of state read again when it changed."""
        self._reloads[kind] = reload

    def announce(self, kind: str) -> None:
        """Tell the other processes that a change was stored; while Redis is away they find it by asking SQL."""
        self._redis.send(b"PUBLISH", self.channel, kind)

    async def run(self, stop: asyncio.Event) -> None:
        """Look for changes until told to stop."""
        with contextlib.suppress(DatabaseUnavailable):
            self._seen = await store.numbers(self._database, self._organisation)
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._told.wait()
            self._told.clear()
            await self.catch_up()

    def wake(self) -> None:
        """Look for changes at once: a message came, or a connection was made."""
        self._told.set()

    async def catch_up(self) -> None:
        """Read again whatever SQL says has changed."""
        try:
            numbers = await store.numbers(self._database, self._organisation)
        except DatabaseUnavailable:
            return
        for kind, reload in self._reloads.items():
            number = numbers.get(kind, 0)
            if number != self._seen.get(kind, 0):
                try:
                    await reload()
                except DatabaseUnavailable:
                    continue
                except Exception:
                    log.exception("changed %s could not be read again", kind)
                self._seen[kind] = number
