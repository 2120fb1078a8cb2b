"""The durable stream between answers and SQL: records in, batches out, each kept until its batch is stored.

Answers for retries travel with the records: one call to Redis for both. It reads no answer: `store.history` does.
"""

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton.kernel.redis.client import Redis, RedisRefused, Script

STREAM = b"baton:records"
SET_ASIDE = b"baton:records:unreadable"
"""Where entries go that no server can store; the newest ten thousand are kept for people to look at."""
GROUP = b"store"
BATCH = 200
ABANDONED_MS = 60_000
"""After this long unacknowledged, an entry that another server took is taken over, in milliseconds."""

ANSWER_S = 600
"""How long an answer is kept for retries, in seconds."""

Entry = tuple[bytes, bytes]
"""An entry's id in the stream, and its content."""
Answer = tuple[bytes, bytes]
"""The key that an answer is kept under, and the answer."""

_APPEND = Script.read(Path(__file__).with_name("stream.lua"))


class Outbox:
    """A stream with one consumer group. Entries are handed out at least once; storing must bear a repetition."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._consumer = f"{socket.gethostname()}-{os.getpid()}"
        self._claim_from = b"0-0"
        self._claim_idle_ms = 0

    async def append(self, records: Sequence[bytes], answers: Sequence[Answer] = ()) -> None:
        """Append records and keep answers in one call; when it returns, Redis has them.

        Raises:
            RedisUnavailable: some may have been appended, and none is known to be.
        """
        keys = [STREAM, *(key for key, _ in answers)]
        await self._redis.script(_APPEND, keys, [ANSWER_S, *(answer for _, answer in answers), *records])

    async def take(self, *, wait_ms: int = 0) -> list[Entry]:
        """Take the next batch: first what a stopped server left unacknowledged, then what is new.

        With `wait_ms` it waits that long for something new, and holds up everything else on this connection.

        Raises:
            RedisUnavailable: what was taken stays unacknowledged, and is taken again later.
        """
        try:
            return await self._abandoned() or await self._new(wait_ms)
        except RedisRefused as error:
            if not str(error).startswith("NOGROUP"):
                raise
        try:
            await self._redis.call(b"XGROUP", b"CREATE", STREAM, GROUP, b"0", b"MKSTREAM")
        except RedisRefused as error:
            if not str(error).startswith("BUSYGROUP"):  # another server was first
                raise
        return await self._new(wait_ms)

    async def done(self, entries: Sequence[Entry]) -> None:
        """Acknowledge and delete entries that are stored."""
        if not entries:
            return
        ids = [entry_id for entry_id, _ in entries]
        await self._redis.pipeline([(b"XACK", STREAM, GROUP, *ids), (b"XDEL", STREAM, *ids)])

    async def set_aside(self, entry: Entry) -> None:
        """Move an entry that cannot be stored out of the way."""
        await self._redis.pipeline(
            [
                (b"XADD", SET_ASIDE, b"MAXLEN", b"~", 10_000, b"*", b"r", entry[1]),
                (b"XACK", STREAM, GROUP, entry[0]),
                (b"XDEL", STREAM, entry[0]),
            ],
        )

    async def length(self) -> int:
        """Count the entries that are not stored yet."""
        return (await self.lengths())[0]

    async def lengths(self) -> tuple[int, int]:
        """Count the entries that are not stored yet, and those that were set aside."""
        waiting, set_aside = await self._redis.pipeline([(b"XLEN", STREAM), (b"XLEN", SET_ASIDE)])
        return waiting, set_aside

    def look_back(self, *, idle_ms: int = ABANDONED_MS) -> None:
        """Have the next `take` look for entries that were handed out, this long ago or longer, and not acknowledged.

        With 0 it takes over what other servers are just storing, too: that costs a repetition, nothing else.
        """
        self._claim_from = b"0-0"
        self._claim_idle_ms = idle_ms

    async def _abandoned(self) -> list[Entry]:
        if not self._claim_from:
            return []
        reply = await self._redis.call(
            b"XAUTOCLAIM", STREAM, GROUP, self._consumer, self._claim_idle_ms, self._claim_from, b"COUNT", BATCH
        )
        self._claim_from = b"" if reply[0] == b"0-0" else reply[0]
        return _entries(reply[1])

    async def _new(self, wait_ms: int) -> list[Entry]:
        wait = (b"BLOCK", wait_ms) if wait_ms else ()
        reply = await self._redis.call(
            b"XREADGROUP", b"GROUP", GROUP, self._consumer, b"COUNT", BATCH, *wait, b"STREAMS", STREAM, b">"
        )
        return _entries(reply[0][1]) if reply else []


def _entries(raw: list[Any]) -> list[Entry]:
    """Read Redis's entries; one that was deleted meanwhile is None, one of another make has no record."""
    return [(one[0], one[1][1] if one[1] and len(one[1]) > 1 else b"") for one in raw if one]
