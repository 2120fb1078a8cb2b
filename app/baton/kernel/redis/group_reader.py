"""Reads Redis streams as a member of a consumer group: each entry at least once, by one of the members."""

import os
import socket
from collections.abc import Sequence

import msgspec

from baton.kernel.redis.client import Redis, RedisRefused

ABANDONED_MS = 60_000
"""How long an entry must be unacknowledged before another member claims it, in milliseconds."""


class Entry(msgspec.Struct, frozen=True):
    """An entry of a stream. `fields` is empty for one that was deleted while it was handed out."""

    stream: bytes
    id: bytes
    fields: dict[bytes, bytes]


class GroupReader:
    """One member of a group on one or more streams.

    The group is created when it is first needed, from the entry `start` on: `0` for the oldest, `$` for what is to come.
    """

    def __init__(
        self, redis: Redis, streams: Sequence[bytes], group: bytes, *, batch: int, start: bytes = b"0"
    ) -> None:
        self._redis = redis
        self._streams = list(streams)
        self._group = group
        self._batch = batch
        self._start = start
        self._consumer = f"{socket.gethostname()}-{os.getpid()}".encode()
        self._claiming: dict[bytes, bytes] = {}
        self._claim_idle_ms = 0

    async def take(self, *, wait_ms: int = 0) -> list[Entry]:
        """Return the next batch: first entries that a stopped member left unacknowledged, then new ones.

        With `wait_ms` it waits that long for a new entry, which blocks everything else on this connection.

        Raises:
            RedisUnavailable: If Redis is away; entries that it had handed out come again after `look_back`.
        """
        try:
            return await self._abandoned() or await self._new(wait_ms)
        except RedisRefused as error:
            if not str(error).startswith("NOGROUP"):
                raise
        # Redis is new or lost its data.
        for stream in self._streams:
            await self._create(stream)
        return await self._new(0)

    async def done(self, entries: Sequence[Entry]) -> None:
        """Acknowledge entries, which stay in their streams."""
        by_stream: dict[bytes, list[bytes]] = {}
        for entry in entries:
            by_stream.setdefault(entry.stream, []).append(entry.id)
        if by_stream:
            await self._redis.pipeline([(b"XACK", stream, self._group, *ids) for stream, ids in by_stream.items()])

    def look_back(self, *, idle_ms: int = ABANDONED_MS) -> None:
        """Make the next `take` claim entries that were delivered at least `idle_ms` ago and not acknowledged."""
        self._claiming = dict.fromkeys(self._streams, b"0-0")
        self._claim_idle_ms = idle_ms

    async def _create(self, stream: bytes) -> None:
        try:
            await self._redis.call(b"XGROUP", b"CREATE", stream, self._group, self._start, b"MKSTREAM")
        except RedisRefused as error:
            if not str(error).startswith("BUSYGROUP"):  # another member was first
                raise

    async def _abandoned(self) -> list[Entry]:
        while self._claiming:
            stream, start = next(iter(self._claiming.items()))
            reply = await self._redis.call(
                b"XAUTOCLAIM", stream, self._group, self._consumer, self._claim_idle_ms, start, b"COUNT", self._batch
            )
            # XAUTOCLAIM returns where to go on, and 0-0 after the last pending entry.
            if reply[0] == b"0-0":
                del self._claiming[stream]
            else:
                self._claiming[stream] = reply[0]
            found = [_entry(stream, one) for one in reply[1] if one]
            if found:
                return found
        return []

    async def _new(self, wait_ms: int) -> list[Entry]:
        wait = (b"BLOCK", wait_ms) if wait_ms else ()
        reply = await self._redis.call(
            *(b"XREADGROUP", b"GROUP", self._group, self._consumer, b"COUNT", self._batch, *wait),
            *(b"STREAMS", *self._streams, *[b">"] * len(self._streams)),
        )
        return [_entry(stream, one) for stream, entries in reply or () for one in entries]


def _entry(stream: bytes, raw: list[list[bytes]]) -> Entry:
    flat = raw[1] or []
    return Entry(stream, raw[0], dict(zip(flat[::2], flat[1::2], strict=True)))  # type: ignore[arg-type]
