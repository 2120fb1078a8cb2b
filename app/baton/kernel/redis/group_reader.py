"""Read a Redis stream as a member of a consumer group: each entry at least once, by one of the members."""

import os
import socket
from collections.abc import Sequence
from typing import Any

import msgspec

from baton.kernel.redis.client import Redis, RedisRefused

ABANDONED_MS = 60_000  # idle time before another member claims an unacknowledged entry, in milliseconds


class StreamEntry(msgspec.Struct, frozen=True):
    """An entry of a stream. `fields` is empty if it was deleted during delivery."""

    id: bytes
    fields: dict[bytes, bytes]


class GroupReader:
    """One member of a group. The group is created when it is first needed, from the oldest entry on."""

    def __init__(self, redis: Redis, stream: bytes, group: bytes, *, batch: int) -> None:
        self._redis = redis
        self._stream = stream
        self._group = group
        self._batch = batch
        self._consumer = f"{socket.gethostname()}-{os.getpid()}".encode()
        self._claim_from = b""
        self._claim_idle_ms = 0

    async def take(self, *, wait_ms: int = 0) -> list[StreamEntry]:
        """Return the next batch: first entries abandoned by stopped members, then new ones.

        `wait_ms` is the timeout for a new entry. It blocks the connection for other commands. Raise RedisUnavailable.
        """
        try:
            return await self._abandoned() or await self._new(wait_ms)
        except RedisRefused as error:
            if not str(error).startswith("NOGROUP"):
                raise
        # Redis is new or lost its data. From entry 0, so that earlier entries are delivered too.
        try:
            await self._redis.call(b"XGROUP", b"CREATE", self._stream, self._group, b"0", b"MKSTREAM")
        except RedisRefused as error:
            if not str(error).startswith("BUSYGROUP"):  # another member was first
                raise
        return await self._new(wait_ms)

    async def done(self, entries: Sequence[StreamEntry]) -> None:
        """Acknowledge and delete entries."""
        if entries:
            ids = [entry.id for entry in entries]
            await self._redis.pipeline([(b"XACK", self._stream, self._group, *ids), (b"XDEL", self._stream, *ids)])

    def look_back(self, *, idle_ms: int = ABANDONED_MS) -> None:
        """Make the next `take` claim entries that were delivered at least `idle_ms` ago and not acknowledged.

        With 0 it also claims what other members handle at this moment: that is handled twice.
        """
        self._claim_from = b"0-0"
        self._claim_idle_ms = idle_ms

    async def _abandoned(self) -> list[StreamEntry]:
        if not self._claim_from:
            return []
        reply = await self._redis.call(
            *(b"XAUTOCLAIM", self._stream, self._group, self._consumer, self._claim_idle_ms),
            *(self._claim_from, b"COUNT", self._batch),
        )
        # XAUTOCLAIM returns where to go on, and 0-0 after the last pending entry.
        self._claim_from = b"" if reply[0] == b"0-0" else reply[0]
        return stream_entries(reply[1])

    async def _new(self, wait_ms: int) -> list[StreamEntry]:
        wait = (b"BLOCK", wait_ms) if wait_ms else ()
        reply = await self._redis.call(
            *(b"XREADGROUP", b"GROUP", self._group, self._consumer, b"COUNT", self._batch, *wait),
            *(b"STREAMS", self._stream, b">"),
        )
        return stream_entries(reply[0][1]) if reply else []


def stream_entries(raw: list[Any]) -> list[StreamEntry]:
    """Read Redis's entries."""
    return [
        StreamEntry(one[0], dict(zip((one[1] or ())[::2], (one[1] or ())[1::2], strict=True))) for one in raw if one
    ]
