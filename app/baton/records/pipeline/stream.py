"""The durable stream between answers and SQL: each record stays in Redis until its batch is stored.

What is stored goes on to the feed, which `baton.records.review.feed` reads.
"""

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton.events.feed import FEED, FEED_LENGTH
from baton.events.redis_streams import outbox
from baton.kernel.redis.client import Redis, RedisRefused, Script

STREAM = b"baton:records"
SET_ASIDE = b"baton:records:unreadable"
"""The stream of entries that cannot be stored; about the newest ten thousand are kept for people to look at."""
SPOOLS = b"baton:records:spools"
"""The hash of what each machine's spool holds."""
SPOOL_NOTE_S = 60
GROUP = b"store"
BATCH = 200
ABANDONED_MS = 60_000
"""How long an entry must be unacknowledged before another server claims it, in milliseconds.

Shorter than any batch takes would only store batches twice."""

Entry = tuple[bytes, bytes]
"""An entry's id in the stream, and its content."""

_APPEND_KEYS = [STREAM, *outbox.KEYS]
_APPEND = outbox.beside(Path(__file__).with_name("stream.lua"))
_DONE = Script.read(Path(__file__).with_name("done.lua"))


class RecordSize:
    """The mean size of a record in Redis, in bytes, of the latest ones: Redis tells their number at no cost."""

    OVERHEAD = 48
    """Bytes of an entry besides its content."""

    def __init__(self) -> None:
        self.mean = 700.0

    def note(self, contents: Sequence[bytes]) -> None:
        """Learn from a batch; one batch changes the mean by a tenth of the difference."""
        if contents:
            mean = sum(map(len, contents)) / len(contents) + self.OVERHEAD
            self.mean += (mean - self.mean) / 10


class RecordStream:
    """A Redis stream with one consumer group.

    Entries are delivered at least once, so storing the same record again must change nothing.
    """

    def __init__(self, redis: Redis, *, with_events: bool = False) -> None:
        self._redis = redis
        self._with_events = int(with_events)
        self._consumer = f"{socket.gethostname()}-{os.getpid()}"
        self._claim_from = b"0-0"
        self._claim_idle_ms = 0

    async def append(self, records: Sequence[bytes]) -> int:
        """Append records, their events with them, in one call. When it returns, Redis has them.

        Returns:
            How many records wait in the stream.

        Raises:
            RedisUnavailable: If Redis is away; it may have taken them all the same.
        """
        waiting: int = await self._redis.script(_APPEND, _APPEND_KEYS, [self._with_events, *records])
        return waiting

    async def take(self, *, wait_ms: int = 0) -> list[Entry]:
        """Return the next batch: first entries that a stopped server left unacknowledged, then new ones.

        With `wait_ms` it waits that long for a new entry, which blocks everything else on this connection.

        Raises:
            RedisUnavailable: If Redis is away; entries that it had handed out come again after `look_back`.
        """
        try:
            return await self._abandoned() or await self._new(wait_ms)
        except RedisRefused as error:
            if not str(error).startswith("NOGROUP"):
                raise
        # Redis is new or lost its data. Create the group here and not at the start, which Redis may miss; from
        # entry 0, so that records which were appended before the group existed are delivered too.
        try:
            await self._redis.call(b"XGROUP", b"CREATE", STREAM, GROUP, b"0", b"MKSTREAM")
        except RedisRefused as error:
            if not str(error).startswith("BUSYGROUP"):  # another server was first
                raise
        return await self._new(wait_ms)

    async def done(self, entries: Sequence[tuple[Entry, bytes]]) -> None:
        """Acknowledge and delete entries, and append to the feed what comes with each, b"" for nothing.

        Call it only once they are stored: nothing delivers them again. Entries of the spool have no id, and left the
        stream long ago.
        """
        pairs = [part for entry, fed in entries if entry[0] for part in (entry[0], fed)]
        if pairs:
            await self._redis.script(_DONE, [STREAM, FEED], [GROUP, FEED_LENGTH, *pairs])

    async def set_aside(self, entry: Entry) -> None:
        """Move an entry that cannot be stored to the stream `SET_ASIDE`, then acknowledge and delete it."""
        leave = [(b"XACK", STREAM, GROUP, entry[0]), (b"XDEL", STREAM, entry[0])] if entry[0] else []
        await self._redis.pipeline(
            [(b"XADD", SET_ASIDE, b"MAXLEN", b"~", 10_000, b"*", b"r", entry[1]), *leave],
        )

    async def note_spool(self, size: int, most: int) -> None:
        """Note how many bytes this machine's spool holds and may hold, for a minute; remove the note where `size` is 0."""
        machine = socket.gethostname()
        if size:
            await self._redis.pipeline(
                [(b"HSET", SPOOLS, machine, f"{size} {most}"), (b"EXPIRE", SPOOLS, SPOOL_NOTE_S)],
            )
        else:
            await self._redis.call(b"HDEL", SPOOLS, machine)

    async def spooled(self) -> tuple[int, int]:
        """Return how many bytes the spools of all machines hold, and may hold."""
        notes = [tuple(map(int, note.split())) for note in await self._redis.call(b"HVALS", SPOOLS)]
        return sum(note[0] for note in notes), sum(note[1] for note in notes)

    async def length(self) -> int:
        """Return how many entries are not stored yet."""
        return (await self.lengths())[0]

    async def lengths(self) -> tuple[int, int]:
        """Return how many entries are not stored yet, and how many were set aside."""
        waiting, set_aside = await self._redis.pipeline([(b"XLEN", STREAM), (b"XLEN", SET_ASIDE)])
        return waiting, set_aside

    def look_back(self, *, idle_ms: int = ABANDONED_MS) -> None:
        """Make the next `take` claim entries that were delivered at least `idle_ms` ago and not acknowledged.

        With 0 it also claims what other servers are storing at this moment: those are stored twice, harmlessly.
        """
        self._claim_from = b"0-0"
        self._claim_idle_ms = idle_ms

    async def _abandoned(self) -> list[Entry]:
        if not self._claim_from:
            return []
        reply = await self._redis.call(
            b"XAUTOCLAIM", STREAM, GROUP, self._consumer, self._claim_idle_ms, self._claim_from, b"COUNT", BATCH
        )
        # XAUTOCLAIM returns where to go on, and 0-0 after the last pending entry: then `take` reads new ones again.
        self._claim_from = b"" if reply[0] == b"0-0" else reply[0]
        return _entries(reply[1])

    async def _new(self, wait_ms: int) -> list[Entry]:
        wait = (b"BLOCK", wait_ms) if wait_ms else ()
        reply = await self._redis.call(
            b"XREADGROUP", b"GROUP", GROUP, self._consumer, b"COUNT", BATCH, *wait, b"STREAMS", STREAM, b">"
        )
        return _entries(reply[0][1]) if reply else []


def _entries(raw: list[Any]) -> list[Entry]:
    """Return Redis's entries. One that was deleted meanwhile is None; a foreign one has no fields."""
    return [(one[0], one[1][1] if one[1] and len(one[1]) > 1 else b"") for one in raw if one]
