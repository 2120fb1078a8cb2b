"""Notifies every process of the team server of changes to shared state."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.pause import tick
from baton.kernel.base.sql import Database, DatabaseUnavailable, StoreErrors, insert_into, table_of
from baton.kernel.changes import numbers as store
from baton.kernel.changes.write import SqlChange, write
from baton.kernel.redis.client import Redis
from baton.kernel.redis.listener import listen
from baton.rules.call.call import Principal

log = logging.getLogger(__name__)

POLL_S = 0.5
NET_S = 1.0
"""How often SQL is asked for changes without Redis, and with it: a server may die before it notifies. In seconds."""


class Changes:
    """Reloads what another process has changed: notified by Redis, and found in SQL without it."""

    def __init__(self, redis: Redis, database: Database, organisation: str) -> None:
        self._redis = redis
        self._database = database
        self._organisation = organisation
        self._reloads: dict[str, Callable[[], Awaitable[None]]] = {}
        self._reload_some: dict[str, Callable[[list[str]], Awaitable[None]]] = {}
        self._seen: dict[str, int] = {}
        self._told = asyncio.Event()
        self._pause_s = POLL_S
        self._stamp: tuple[int, ...] = ()
        self._turns: dict[str, asyncio.Lock] = {}

    @property
    def channel(self) -> str:
        """The Redis channel of change notifications."""
        return f"baton:changed:{self._organisation}"

    def turn(self, kind: str) -> asyncio.Lock:
        """Return a kind's lock, held while SQL is loaded into memory: an older read must not overwrite a newer one."""
        return self._turns.setdefault(kind, asyncio.Lock())

    def on(
        self,
        kind: str,
        reload: Callable[[], Awaitable[None]],
        some: Callable[[list[str]], Awaitable[None]] | None = None,
    ) -> None:
        """Register the reload of a kind of state: of all of it, and optionally of some objects."""
        self._reloads[kind], self._stamp = reload, ()
        if some is not None:
            self._reload_some[kind] = some

    def seen(self, kind: str) -> int | None:
        """Return the number of the latest change read by this process, or None before the first poll."""
        return self._seen.get(kind)

    @contextlib.asynccontextmanager
    async def write(self, kind: str, principal: Principal, action: str) -> AsyncIterator[SqlChange]:
        """Change shared state: store it, audit it, notify the other processes, reload it here.

        See `kernel.changes.write` for the arguments. Raise StoreUnavailable, or RuntimeError without an audit entry;
        nothing was changed then.
        """
        with StoreErrors("the database is unavailable; nothing was changed, try again"):
            async with write(self._database, kind, principal, action) as change:
                yield change
        for changed in change.kinds:
            self.announce(changed)
            # The change is stored. A later failure must not suggest otherwise: `catch_up` reloads it later.
            try:
                await self._reload(changed)
            except DatabaseUnavailable:
                log.warning("%s changed, and could not be read again yet: the database is unavailable", changed)
            except Exception:
                log.exception("changed %s could not be read again", changed)

    async def _reload(self, kind: str) -> None:
        if kind in self._reloads:
            number = (await store.numbers(self._database, self._organisation)).get(kind, 0)
            await self._read_again(kind, number)

    async def _read_again(self, kind: str, number: int) -> None:
        """Reload a kind up to a number: only the changed objects if they are known."""
        some, seen = self._reload_some.get(kind), self._seen.get(kind)
        objects = None
        if some is not None and seen is not None:
            async with self._database.transaction() as connection:
                objects = await store.objects_since(connection, self._organisation, kind, seen, number)
        if some is None or objects is None:
            await self._reloads[kind]()
        else:
            await some(objects)
        # Set last: until now, this process must not treat its memory as current.
        self._seen[kind] = max(number, self._seen.get(kind, 0))

    def announce(self, kind: str) -> None:
        """Publish a stored change to the other processes. Without Redis they find it by polling SQL."""
        self._redis.send(b"PUBLISH", self.channel, kind)

    async def run(self, stop: asyncio.Event) -> None:
        """Look for changes until told to stop; at first for all that happened since the state was read.

        Every kind must be registered before.
        """
        listening = asyncio.create_task(listen(self._redis.url, self.channel, self.wake, self._lose))
        try:
            while not stop.is_set():
                self._told.clear()
                try:
                    await self.catch_up()
                except Exception:
                    log.exception("changes could not be looked for")
                await tick(self._pause_s, self._told, stop)
        finally:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listening

    def wake(self, _message: bytes = b"") -> None:
        """Look for changes at once: a message came, or a connection was made."""
        self._pause_s, self._stamp = NET_S, ()
        self._told.set()

    def _lose(self) -> None:
        self._pause_s = POLL_S
        self._told.set()

    async def catch_up(self) -> None:
        """Reload everything that changed in SQL. If SQLite's files show that nothing did, ask nothing."""
        stamp = self._database.stamp()
        if stamp and stamp == self._stamp:
            return
        try:
            numbers = await store.numbers(self._database, self._organisation)
        except DatabaseUnavailable:
            return
        self._stamp = stamp
        for kind in list(self._reloads):  # a reload may register more
            number = numbers.get(kind, 0)
            if number > self._seen.get(kind, 0):
                try:
                    await self._read_again(kind, number)
                except DatabaseUnavailable:
                    self._stamp = ()
                except Exception:
                    log.exception("changed %s could not be read again", kind)
                    self._seen[kind] = number
            else:
                self._seen.setdefault(kind, number)  # it has never changed


# Leadership between servers: a table of work done by one server at a time.


LEADERSHIP = table_of("leases", {"until": datetime}, keys=("organisation", "work"))
"""Each piece of work and the end of a server's leadership of it. The table keeps an older name."""


async def take_turn(database: Database, organisation: str, work: str, now: datetime, period: timedelta) -> bool:
    """Lead a piece of work for a period. Return False if another server leads it."""
    insert = insert_into(database.dialect, LEADERSHIP).values(organisation=organisation, work=work, until=now + period)
    taken = insert.on_conflict_do_update(
        index_elements=["organisation", "work"], set_={"until": now + period}, where=LEADERSHIP.c.until <= now
    )
    async with database.transaction() as connection:
        return bool((await connection.execute(taken)).rowcount == 1)


async def until(connection: AsyncConnection, organisation: str, work: str) -> datetime | None:
    """Return the end of the current or last leadership of a piece of work, or None."""
    query = select(LEADERSHIP.c.until).where(LEADERSHIP.c.organisation == organisation, LEADERSHIP.c.work == work)
    found: datetime | None = (await connection.execute(query)).scalar()
    return found
