"""The tail of the log, read from Redis once for all its readers in this process."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import islice

from baton.events.log import BATCH, LOG, START, Log, LogEntry, LogPage, Place, place_text, read_entries
from baton.kernel.redis.client import Redis, RedisUnavailable

RING = 2_000
"""Entries kept in memory for the readers."""
BATCH_S = 0.1
"""Shortest time between two reads, in seconds."""
BLOCK_MS = 1_000
TIMEOUT_S = 5.0
"""Timeouts of a read for a new entry, in milliseconds, and of Redis, in seconds."""
RETRY_S = 0.5
_READ = 500


class LiveFeed:
    """Reads the log while anybody follows it. A reader is only a place, so a slow one costs no memory."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self.log = Log(redis)
        self._ring: deque[LogEntry] = deque(maxlen=RING)
        self._complete_after: Place | None = None
        """The ring holds every entry after this place; None until Redis was read."""
        self._readers: set[asyncio.Event] = set()
        self._reading: asyncio.Task[None] | None = None

    @property
    def newest(self) -> Place | None:
        """Return the place of the newest entry, None until Redis was read."""
        return self._ring[-1].place if self._ring else self._complete_after

    @contextlib.asynccontextmanager
    async def follow(self) -> AsyncIterator[asyncio.Event]:
        """Read the log during the block; the yielded event is set when new entries are there."""
        woken = asyncio.Event()
        self._readers.add(woken)
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        try:
            yield woken
        finally:
            self._readers.discard(woken)
            if not self._readers and self._reading is not None:
                reading, self._reading = self._reading, None
                reading.cancel()
                self._ring.clear()
                self._complete_after = None
                await asyncio.wait([reading])

    async def after(self, place: Place) -> LogPage:
        """Return the next entries after a place, at most 200.

        Raises:
            RedisUnavailable: If the place is not in memory and Redis is unavailable.
        """
        if (found := self._in_ring(place)) is not None:
            return LogPage(found, found[-1].place if found else place)
        return await self.log.after(place)

    def _in_ring(self, place: Place) -> list[LogEntry] | None:
        """Return the next entries after a place in the ring, None for any other place."""
        newer = 0  # readers are near the end, so it is counted from there
        for entry in reversed(self._ring):
            if entry.place <= place:
                break
            newer += 1
        start = len(self._ring) - newer
        known = self._ring[start - 1].place if start else self._complete_after
        return list(islice(self._ring, start, start + BATCH)) if known == place else None

    async def _read(self) -> None:
        """Move entries from Redis to the ring until cancelled. The connection is its own, because it waits in Redis."""
        redis = Redis(self._redis.url, timeout_s=TIMEOUT_S)
        await redis.start()
        was_away = False
        try:
            while True:
                try:
                    if self._complete_after is None:
                        self._complete_after = await Log(redis).newest()
                        self._wake()
                    if was_away and (await Log(redis).after(self.newest or START)).lost:
                        self._forget()
                    was_away = False
                    fresh = await self._fresh(redis)
                except RedisUnavailable:
                    was_away = True
                    await asyncio.sleep(RETRY_S)
                    continue
                if fresh:
                    overflow = len(self._ring) + len(fresh) - RING
                    if overflow > 0:
                        self._complete_after = [*self._ring, *fresh][overflow - 1].place
                    self._ring.extend(fresh)
                    self._wake()
                if len(fresh) < _READ:
                    await asyncio.sleep(BATCH_S)
        finally:
            await redis.close()

    async def _fresh(self, redis: Redis) -> list[LogEntry]:
        last = place_text(self.newest or START)
        reply = await redis.call(b"XREAD", b"COUNT", _READ, b"BLOCK", BLOCK_MS, b"STREAMS", LOG, last)
        return read_entries(reply[0][1]) if reply else []

    def _forget(self) -> None:
        """Empty the ring and restart it just after its last place. Readers behind that see a gap."""
        milliseconds, number = self.newest or START
        self._ring.clear()
        self._complete_after = (milliseconds, number + 1)
        self._wake()

    def _wake(self) -> None:
        for reader in self._readers:
            reader.set()


def moment(place: Place) -> datetime:
    """Return when the entry of a place was appended."""
    return datetime.fromtimestamp(place[0] / 1000, UTC)
