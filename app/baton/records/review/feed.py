"""What all servers stored and published last: read from Redis once for all who follow it in this process.

An entry is a stored decision, or an event of a live topic (`baton.events.feed`).
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from baton.engine.call.record import Record
from baton.events.feed import FEED
from baton.events.topics import TOPICS
from baton.kernel.redis.client import Redis, RedisUnavailable

RING = 2_000
"""Entries that a process keeps for its readers."""
BATCH = 200
"""Entries that a reader gets at a time."""
BATCH_S = 0.1
"""Shortest time between two readings, in seconds: what is stored meanwhile comes together."""
BLOCK_MS = 1_000
TIMEOUT_S = 5.0
"""Longest waits for a new entry, in milliseconds, and for Redis, in seconds."""
RETRY_S = 0.5
_READ = 500
_decision = msgspec.msgpack.Decoder(Record).decode
_TOPICS = {topic.event_type: topic.name for topic in TOPICS}

Place = tuple[int, int]
"""A place in the feed, as Redis numbers the entries of a stream: milliseconds, and a number within them."""
START: Place = (0, 0)


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a live topic, as the bus has it; `data` is its payload."""

    organisation: str
    team: str
    user: str
    time: str
    data: dict[str, Any]

    @property
    def topic(self) -> str:
        """The topic's short name, "" for one that this version does not know."""
        return _TOPICS.get(self.data.get("event_type", ""), "")


_event = msgspec.json.Decoder(LiveEvent).decode


class FeedEntry(msgspec.Struct):
    """One entry of the feed: a decision or an event, or neither where another version of Baton wrote it.

    `shown` is its JSON, made for the first reader who wants it.
    """

    place: Place
    record: Record | None = None
    event: LiveEvent | None = None
    shown: bytes = b""


class FeedPage(msgspec.Struct, frozen=True):
    """The next entries for a reader, and the place behind them; `lost` if the feed no longer has some before them."""

    entries: list[FeedEntry]
    place: Place
    lost: bool = False


class LiveFeed:
    """Reads the feed while anybody follows it. A reader is only a place, so that a slow one costs no memory."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._ring: deque[FeedEntry] = deque(maxlen=RING)
        self._complete_after: Place | None = None
        """The ring holds every entry after this place; None until Redis was read."""
        self._readers: set[asyncio.Event] = set()
        self._reading: asyncio.Task[None] | None = None

    @property
    def newest(self) -> Place | None:
        """The place of the newest entry, None while Redis could not be read yet."""
        return self._ring[-1].place if self._ring else self._complete_after

    @contextlib.asynccontextmanager
    async def follow(self) -> AsyncIterator[asyncio.Event]:
        """Read the feed during the block, and yield an event that is set when something new is there."""
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

    async def after(self, place: Place) -> FeedPage:
        """Return the next entries after a place, at most 200.

        Raises:
            RedisUnavailable: If the place is not in memory and Redis is away.
        """
        if (found := self._in_ring(place)) is not None:
            return FeedPage(found, found[-1].place if found else place)
        known, entries = await self._redis.pipeline(
            [
                (b"XRANGE", FEED, place_text(place), place_text(place)),
                (b"XRANGE", FEED, f"({place_text(place)}", b"+", b"COUNT", BATCH),
            ]
        )
        # A place that Redis no longer has was trimmed, or lost with Redis itself: then others behind it may be, too.
        lost, found = not known and place != START, _entries(entries)
        return FeedPage(found, found[-1].place if found else (self.newest or START) if lost else place, lost)

    def _in_ring(self, place: Place) -> list[FeedEntry] | None:
        """Return the next entries after a place that the ring knows, None for any other place."""
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
                        self._complete_after = await _newest(redis)
                        self._wake()
                    if was_away and await self._lost(redis):
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

    async def _fresh(self, redis: Redis) -> list[FeedEntry]:
        last = place_text(self.newest or START)
        reply = await redis.call(b"XREAD", b"COUNT", _READ, b"BLOCK", BLOCK_MS, b"STREAMS", FEED, last)
        return _entries(reply[0][1]) if reply else []

    async def _lost(self, redis: Redis) -> bool:
        """Return whether Redis has forgotten the newest entry that was read: it was started anew, or trimmed far."""
        newest = self.newest or START
        return newest != START and not await redis.call(b"XRANGE", FEED, place_text(newest), place_text(newest))

    def _forget(self) -> None:
        """Empty the ring, and let it begin just behind where it was: readers who stand before that see a gap."""
        milliseconds, number = self.newest or START
        self._ring.clear()
        self._complete_after = (milliseconds, number + 1)
        self._wake()

    def _wake(self) -> None:
        for reader in self._readers:
            reader.set()


def place_text(place: Place) -> str:
    """Return a place as Redis and the ids of events have it."""
    return f"{place[0]}-{place[1]}"


def moment(place: Place) -> datetime:
    """Return when the entry of a place was stored."""
    return datetime.fromtimestamp(place[0] / 1000, UTC)


async def _newest(redis: Redis) -> Place:
    found = await redis.call(b"XREVRANGE", FEED, b"+", b"-", b"COUNT", 1)
    return _place(found[0][0]) if found else START


def _place(name: bytes) -> Place:
    milliseconds, _, number = name.partition(b"-")
    return int(milliseconds), int(number)


def _entries(raw: list[Any]) -> list[FeedEntry]:
    found = []
    for name, fields in raw:
        entry = FeedEntry(_place(name))
        with contextlib.suppress(msgspec.MsgspecError):
            if fields[0] == b"r":
                entry.record = _decision(fields[1])
            elif fields[0] == b"e":
                entry.event = _event(fields[1])
        found.append(entry)
    return found
