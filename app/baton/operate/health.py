"""The state of the server's dependencies: looked at in the background, so that no answer waits for them."""

import asyncio
import fcntl
import logging
import shutil
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import msgspec

from baton.events.log import TROUBLES
from baton.kernel.base.pause import pause, tick
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.http.features import Lifecycle, Phase
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.lib.text.masking import mask
from baton.records.pipeline.recorder import Recorder

log = logging.getLogger(__name__)

T = TypeVar("T")
Dependency = Literal["redis", "database", "disk"]
DEPENDENCIES: tuple[Dependency, ...] = ("redis", "database", "disk")
UpDown = Literal["up", "down"]

EVERY_S = 2.0
SILENT_S = 0.5
"""Period of the looks, and the time without an answer after which a dependency counts as down, in seconds."""
ANSWER_S = 0.03
SLOW_S = 2.0
"""Maximum wait of an operator's answer for a silent database, and for a slow one, in seconds."""
CLOCK_S = 30.0
"""Difference between clocks that is reported, in seconds."""
DISK_S = 10.0
"""Period of the looks at a disk that has room, in seconds: each wakes a thread."""
LEAST_DISK = 1 << 20
"""Free bytes below which the home's disk counts as full."""
MOST_KEPT = 200


class HealthState(msgspec.Struct, frozen=True, kw_only=True):
    """The state as of the last look. `causes` says why a dependency is down: it is up if it accepts writes."""

    phase: Phase
    causes: dict[Dependency, str]
    clock_ahead_s: float = 0.0
    """Seconds by which this machine's clock is ahead of the clock of Redis or Postgres; 0 for less than half a minute."""

    def state(self, name: Dependency) -> UpDown:
        """Return a dependency's state."""
        return "down" if name in self.causes else "up"

    @property
    def degraded(self) -> bool:
        """Whether the server accepts calls, but decides or records them without a dependency."""
        return self.phase == "ready" and bool(self.causes)


class DependencySince(msgspec.Struct, frozen=True, kw_only=True):
    """A dependency's state, as seen by this process: its address without credentials, its last change, and why it is down."""

    name: Dependency
    state: UpDown
    since: datetime
    place: str
    cause: str = ""


class Health:
    """Looks at the dependencies every two seconds, and logs the start and the end of each outage."""

    def __init__(
        self, redis: Redis, database: Database, lifecycle: Lifecycle, recorder: Recorder, settings: Settings
    ) -> None:
        self._redis = redis
        self._database = database
        self._lifecycle = lifecycle
        self._recorder = recorder
        self._home = settings.home
        self.version = version("baton")
        self.started_at = datetime.now(UTC)
        places: dict[Dependency, str] = {
            "redis": mask(settings.redis_url) or "the bundled Valkey",
            "database": database.place,
            "disk": str(settings.home.absolute()),
        }
        self._seen = {
            name: DependencySince(name=name, state="up", since=self.started_at, place=place)
            for name, place in places.items()
        }
        self._logged: set[Dependency] = set()
        self._clocks: dict[Dependency, float] = {}
        self._ahead_s = self._disk_until = 0.0
        self._drain = ""  # why this machine's drain cannot store entries
        self._looks: dict[Dependency, asyncio.Task[str]] = {}
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._reading: dict[Hashable, asyncio.Task[Any]] = {}
        self._speaker: IO[str] | None = None

    @property
    def phase(self) -> Phase:
        """The process's phase: starting, ready or draining."""
        return self._lifecycle.phase

    @property
    def state(self) -> HealthState:
        """The state as of the last look; it waits for nothing."""
        causes = {one.name: one.cause for one in self._seen.values() if one.cause}
        if not self._redis.up:
            causes.setdefault("redis", self._redis.reason)
        return HealthState(phase=self.phase, causes=causes, clock_ahead_s=self._ahead_s)

    def dependencies(self) -> list[DependencySince]:
        """Return the dependencies as of the last look."""
        return list(self._seen.values())

    async def run(self, stop: asyncio.Event) -> None:
        """Look until `stop`. An outage is logged if a second look, soon after the first, still finds it."""
        # No periodic task: it begins late, since a starting server is busy, and ends the looks that hang.
        await pause(stop, SILENT_S)
        while not stop.is_set():
            await self.look()
            news = {name for name, one in self._seen.items() if bool(one.cause) != (name in self._logged)}
            if news:
                await pause(stop, SILENT_S)
                await self.look()
                for name in news:
                    await self._tell(self._seen[name])
            await tick(EVERY_S, stop)
        for task in (*self._looks.values(), *self._reading.values()):
            task.cancel()

    async def look(self) -> None:
        """Look at each dependency, for at most half a second."""
        looks: dict[Dependency, Callable[[], Awaitable[str]]] = {
            "redis": self._look_at_redis,
            "database": self._look_at_database,
            "disk": self._look_at_disk,
        }
        causes = dict(zip(looks, await asyncio.gather(*(self._look(*one) for one in looks.items())), strict=True))
        drain = "" if causes["redis"] else self._drain
        causes["database"] = (
            causes["database"] or drain or (self._database.dialect == "sqlite" and causes["disk"]) or ""
        )
        for name, cause in causes.items():
            known, state = self._seen[name], "down" if cause else "up"
            since = known.since if known.state == state else datetime.now(UTC)
            self._seen[name] = msgspec.structs.replace(known, state=state, since=since, cause=cause)
        self._compare_clocks()

    async def recent(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T | None:
        """Return what `read` finds, or found before if Redis or the database is silent: an operator's answer is quick.

        None if nothing is known yet.
        """
        task = self._reading.get(key)
        if task is None:
            task = self._reading[key] = asyncio.ensure_future(self._keep(key, read))
        looks = [self._start("database", self._look_at_database), self._start("redis", self._look_at_redis)]
        await asyncio.wait([task], timeout=ANSWER_S)
        if not task.done() and not self._seen["database"].cause:
            if all(one.done() for one in looks) and not looks[0].result():  # they are slow, but answer
                await asyncio.wait([task], timeout=SLOW_S)
            elif key not in self._kept:
                await asyncio.wait([task], timeout=SILENT_S)
        found: T | None = task.result() if task.done() else self._kept.get(key)
        return found

    async def _keep(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        try:
            found = self._kept[key] = await read()
        finally:
            del self._reading[key]
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found

    def _start(self, name: Dependency, look: Callable[[], Awaitable[str]]) -> asyncio.Task[str]:
        """Start a look, unless an earlier one still waits: a hung dependency has one look at a time."""
        task = self._looks.get(name)
        if task is None or task.done():
            task = self._looks[name] = asyncio.ensure_future(look())
        return task

    async def _look(self, name: Dependency, look: Callable[[], Awaitable[str]]) -> str:
        task = self._start(name, look)
        await asyncio.wait([task], timeout=SILENT_S)
        if not task.done():  # the delay may have been our own loop's
            await asyncio.wait([task], timeout=ANSWER_S)
        return task.result() if task.done() else "it does not answer"

    async def _look_at_redis(self) -> str:
        try:
            noted = self._redis.submit(b"HGET", TROUBLES, socket.gethostname())
            now = await self._redis.probe()
            self._drain = (await noted or b"").decode()
        except RedisUnavailable as error:
            return str(error)
        self._clocks["redis"] = time.time() - now
        return ""

    async def _look_at_database(self) -> str:
        if self._database.dialect == "sqlite":  # what hinders it shows on the disk, and in the drain's notes
            return ""
        try:
            now, is_read_only = await self._database.look()
        except DatabaseUnavailable as error:
            return error.cause
        if now is not None:
            self._clocks["database"] = time.time() - now.timestamp()
        return "it is read-only" if is_read_only else ""

    async def _look_at_disk(self) -> str:
        now = asyncio.get_running_loop().time()
        if now < self._disk_until:
            return ""
        cause = await asyncio.to_thread(_full, self._home)
        self._disk_until = 0.0 if cause else now + DISK_S
        return cause

    def _compare_clocks(self) -> None:
        ahead_s = max(self._clocks.values(), key=abs, default=0.0)
        ahead_s = ahead_s if abs(ahead_s) >= CLOCK_S else 0.0
        if ahead_s and not self._ahead_s and self._speaks():
            side = "ahead of" if ahead_s > 0 else "behind"
            log.error("this machine's clock is %.0f s %s that of Redis or the database: set it", abs(ahead_s), side)
        self._ahead_s = ahead_s

    async def _tell(self, one: DependencySince) -> None:
        """Log the start or the end of an outage, in one of this machine's workers."""
        if bool(one.cause) == (one.name in self._logged):
            return
        self._logged ^= {one.name}
        if not self._speaks():
            return
        stats = await self._recorder.stats()
        waiting = stats["queued"] + stats["waiting"]
        host = one.place.rpartition("://")[2].rpartition("@")[2]
        if one.cause:
            log.error("%s is unavailable at %s: %s; %d entries wait", one.name, host, one.cause, waiting)
        else:
            log.warning("%s is available again at %s; %d entries wait", one.name, host, waiting)

    def _speaks(self) -> bool:
        """Whether this worker logs for its machine: the first to lock a file does, until it ends."""
        if self._speaker is None:
            try:
                file = (self._home / "speaker").open("w")
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            except OSError:  # the disk is full: better twice than not at all
                return True
            self._speaker = file
        return True


def _full(home: Path) -> str:
    try:
        free = shutil.disk_usage(home).free
        (home / "probe").write_bytes(bytes(4_096))
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return "" if free >= LEAST_DISK else "no space left on device"
