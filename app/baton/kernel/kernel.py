"""The base of every feature: settings, Redis, SQL, changes, and background work."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.pause import keep_up, pause, tick
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import announce
from baton.kernel.changes.announce import Changes
from baton.kernel.http.peer import PeerLooks
from baton.kernel.redis.client import Redis, RedisUnavailable

Work = Callable[[asyncio.Event], Coroutine[None, None, None]]  # runs until the event is set
LOOK_S = 60.0  # longest time between two checks whether this server is to do a task of one server
log = logging.getLogger(__name__)


class PeriodicTask(NamedTuple):
    """A periodic task: of each server, or of one for all (`one_server`). `at_stop`: once more when the server stops.

    `wake` is an event that begins the next period at once.
    """

    name: str
    seconds: float
    work: Callable[[asyncio.Event], Awaitable[object] | None]
    one_server: bool = False
    at_stop: bool = False
    wake: asyncio.Event | None = None

    async def repeat(self, database: Database, organisation: str, stop: asyncio.Event) -> None:
        """Do the work each period until `stop` is set. After a failure, wait for the next period."""
        period = timedelta(seconds=self.seconds)
        events = (stop, self.wake) if self.wake else (stop,)
        while True:
            if self.wake:
                self.wake.clear()
            try:
                now = datetime.now(UTC)
                if not self.one_server or await announce.take_turn(database, organisation, self.name, now, period):
                    doing = self.work(stop)
                    if doing is not None:
                        await doing
            except (DatabaseUnavailable, RedisUnavailable, StoreUnavailable) as error:
                log.debug("`%s` is repeated later: %s", self.name, error)
            except Exception:
                log.exception("`%s` failed; it is repeated", self.name)
            if stop.is_set():
                return
            # A tick may come just before the end of this server's own leadership.
            await (pause(stop, min(self.seconds, LOOK_S)) if self.one_server else tick(self.seconds, *events))
            if stop.is_set() and not self.at_stop:
                return


class Kernel:
    """The parts shared by features. Stops in reverse order of registration."""

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
        """Await `close` when the server stops, before earlier registrations."""
        self._stack.push_async_callback(close)

    def run(self, work: Work) -> None:
        """Run `work` from `begin` until the server stops. Restart it after failures."""
        self._background.append(work)

    def every(self, task: PeriodicTask) -> None:
        """Repeat a task from `begin` until the server stops."""
        self.run(lambda stop: task.repeat(self.database, self.organisation, stop))

    def begin(self) -> None:
        """Start the background work once every feature is built, since it may call any of them."""
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
