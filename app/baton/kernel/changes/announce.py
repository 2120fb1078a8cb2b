"""Tells every process of the team server what shared state has changed."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import numbers as store
from baton.kernel.changes.write import Change, write
from baton.kernel.redis.client import Redis
from baton.kernel.redis.listener import listen

log = logging.getLogger(__name__)

POLL_S = 0.5
"""How often SQL is asked for changes that no message told of, in seconds."""


class Changes:
    """Reloads what another process has changed: told by Redis at once, and by SQL within a second."""

    def __init__(self, redis: Redis, database: Database, organisation: str) -> None:
        self._redis = redis
        self._database = database
        self._organisation = organisation
        self._reloads: dict[str, Callable[[], Awaitable[None]]] = {}
        self._reload_some: dict[str, Callable[[list[str]], Awaitable[None]]] = {}
        self._seen: dict[str, int] = {}
        self._told = asyncio.Event()
        self._turns: dict[str, asyncio.Lock] = {}

    @property
    def channel(self) -> str:
        """The channel that changes are told on."""
        return f"baton:changed:{self._organisation}"

    def turn(self, kind: str) -> asyncio.Lock:
        """Return the lock of a kind, to be held while it is read from SQL and put into memory.

        Otherwise a read that began before a change could overwrite what a later one has put there.
        """
        return self._turns.setdefault(kind, asyncio.Lock())

    def on(
        self,
        kind: str,
        reload: Callable[[], Awaitable[None]],
        some: Callable[[list[str]], Awaitable[None]] | None = None,
    ) -> None:
        """Register what reads a kind of state again when it has changed: all of it, or only the objects that it is given."""
        self._reloads[kind] = reload
        if some is not None:
            self._reload_some[kind] = some

    def seen(self, kind: str) -> int | None:
        """Return the number of the latest change of a kind that this process has read, None before the first look."""
        return self._seen.get(kind)

    @contextlib.asynccontextmanager
    async def write(self, kind: str, principal: Principal, action: str) -> AsyncIterator[Change]:
        """Change shared state: store it, audit it, tell the other processes, and read it again in this one.

        The block stores and audits within the change's transaction; `kernel.changes.write` describes the arguments.

        Raises:
            StoreUnavailable: The database is away; nothing was changed.
            RuntimeError: The block ended without an audit entry; nothing was changed.
        """
        try:
            async with write(self._database, kind, principal, action) as change:
                yield change
        except DatabaseUnavailable:
            raise StoreUnavailable("the database is away; nothing was changed, try again") from None
        for changed in change.kinds:
            self.announce(changed)
            # The change is stored: whatever fails now must not make it look as if it had not been.
            # `catch_up` reads it later, as in every other process.
            try:
                await self._reload(changed)
            except DatabaseUnavailable:
                log.warning("%s changed, and could not be read again yet: the database is away", changed)
            except Exception:
                log.exception("changed %s could not be read again", changed)

    async def _reload(self, kind: str) -> None:
        if kind in self._reloads:
            number = (await store.numbers(self._database, self._organisation)).get(kind, 0)
            await self._read_again(kind, number)

    async def _read_again(self, kind: str, number: int) -> None:
        """Bring a kind up to a number: by the objects that changed since, or whole where they are not known."""
        some, seen = self._reload_some.get(kind), self._seen.get(kind)
        objects = None
        if some is not None and seen is not None:
            async with self._database.transaction() as connection:
                objects = await store.objects_since(connection, self._organisation, kind, seen, number)
        if some is None or objects is None:
            await self._reloads[kind]()
        else:
            await some(objects)
        # Only now: until then a change by this process must not take memory for up to date.
        self._seen[kind] = max(number, self._seen.get(kind, 0))

    def announce(self, kind: str) -> None:
        """Publish to the other processes that a change was stored; while Redis is down they find it by polling SQL."""
        self._redis.send(b"PUBLISH", self.channel, kind)

    async def run(self, stop: asyncio.Event) -> None:
        """Look for changes until told to stop; at first for all that happened since the state was read.

        Every kind must be registered before.
        """
        listening = asyncio.create_task(listen(self._redis.url, self.channel, self.wake))
        try:
            while not stop.is_set():
                self._told.clear()
                try:
                    await self.catch_up()
                except Exception:
                    log.exception("changes could not be looked for")
                await self._wait(stop)
        finally:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listening

    def wake(self, _message: bytes = b"") -> None:
        """Look for changes at once: a message came, or a connection was made."""
        self._told.set()

    async def catch_up(self) -> None:
        """Read again whatever SQL says has changed."""
        try:
            numbers = await store.numbers(self._database, self._organisation)
        except DatabaseUnavailable:
            return
        for kind in list(self._reloads):  # more may be added while one is read
            number = numbers.get(kind, 0)
            if number > self._seen.get(kind, 0):
                try:
                    await self._read_again(kind, number)
                except DatabaseUnavailable:
                    continue
                except Exception:
                    log.exception("changed %s could not be read again", kind)
                    self._seen[kind] = number
            else:
                self._seen.setdefault(kind, number)  # nothing of it has ever changed

    async def _wait(self, stop: asyncio.Event) -> None:
        """Wait for a message, for the end, or for the next look."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._told, stop)]
        try:
            await asyncio.wait(waits, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
