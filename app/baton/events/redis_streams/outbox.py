"""The outbox: what was emitted and is not published yet, in a bounded Redis stream.

An entry is a packed `Emission`, or the packed record of a decision or of its outcome, which `baton.records` puts beside the
one that goes to SQL.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from baton.kernel.redis.client import Redis, Script
from baton.kernel.redis.group_reader import Entry, GroupReader

STREAM = b"baton:events:outbox"
KEYS = (STREAM, b"baton:events:outbox:bytes", b"baton:events:outbox:dropped")
GROUP = b"publish"
FIELD = b"e"
"""The field of an entry that holds what was put in."""
MOST_ENTRIES = 100_000
"""Entries that wait to be published; more are refused and counted."""
MOST_BYTES = 64 << 20
BATCH = 200

_FOLDER = Path(__file__).parent
_LIBRARY = Script.read(_FOLDER / "outbox.lua", MOST_ENTRIES=MOST_ENTRIES, MOST_BYTES=MOST_BYTES)
_APPEND = Script.read(_FOLDER / "outbox_append.lua", after=_LIBRARY)
_DONE = Script.read(_FOLDER / "outbox_done.lua")


class Emission(msgspec.Struct, frozen=True, array_like=True):
    """One emitted event on its way to the bus; `data` is its payload as JSON, already masked.

    It is packed as an array whose first element is a text, which tells it from the record of a decision (a map) and from the
    report of an outcome (an array that begins with a time).
    """

    topic: str
    id: str
    at_ms: int
    organisation: str
    team: str
    user: str
    data: bytes


def beside(script: Path) -> Script:
    """Return a script that may call `put_events`, so that an entry gets into the outbox together with something else."""
    return Script.read(script, after=_LIBRARY)


class Outbox:
    """The stream as its two ends use it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._reader = GroupReader(redis, [STREAM], GROUP, batch=BATCH)

    async def append(self, entries: Sequence[bytes]) -> int:
        """Append entries; return how many of them found no room.

        Raises:
            RedisUnavailable: If Redis is away; it may have taken them all the same.
        """
        dropped: int = await self._redis.script(_APPEND, KEYS, entries)
        return dropped

    async def take(self, *, wait_ms: int = 0) -> list[Entry]:
        """Return the next batch, as `GroupReader.take` does."""
        return await self._reader.take(wait_ms=wait_ms)

    def look_back(self, *, idle_ms: int) -> None:
        """Make the next `take` claim what was handed out at least `idle_ms` ago and not published."""
        self._reader.look_back(idle_ms=idle_ms)

    async def done(self, entries: Sequence[Entry]) -> None:
        """Acknowledge and delete entries that are published."""
        if entries:
            pairs = [part for entry in entries for part in (entry.id, len(entry.fields.get(FIELD, b"")))]
            await self._redis.script(_DONE, KEYS, [GROUP, *pairs])

    async def counts(self) -> dict[str, int]:
        """Return how many entries and bytes wait, and how many were refused since Redis was new."""
        waiting, size, dropped = await self._redis.pipeline(
            [(b"XLEN", STREAM), (b"GET", KEYS[1]), (b"GET", KEYS[2])],
        )
        return {"waiting": waiting, "bytes": int(size or 0), "dropped": int(dropped or 0)}
