"""The queue before the log: entries of this process wait here, and in its journal, until Redis has them."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from baton.events.journal import Journal
from baton.events.log import EntrySize, Log
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable

log = logging.getLogger(__name__)

QUEUE = 10_000
QUEUE_BYTES = 64 << 20
"""Maximum entries in memory while Redis is unavailable, and their bytes."""
BATCH = 50
"""Entries that are packed and appended together."""
GATHER_S = 0.03
"""How long entries gather before a batch is appended, in seconds."""
TIMEOUT_S = 5.0
"""Timeout of Redis, in seconds. No answer waits for this connection."""
RETRY_S = 0.1
STOP_S = 5.0
"""How long stopping waits for Redis, in seconds."""
LOOK_S = 1.0
"""How often Redis is asked for the length of the log, in seconds."""
SHED_FROM = (2.0, 3.0, 4.0)
"""How full the log must be for each degree of dropping, as a multiple of its bound.

The drain trims the log and moves unstored entries to disk above 1. So the log grows to 2 only if the disk is full too, or
the drain is down.
"""
_SHEDDING = (
    "nothing is dropped any more",
    "calls that no rule matched, the ends of calls and events are dropped from now on",
    "everything but refusals, questions and overridden calls is dropped from now on",
    "every entry is dropped from now on",
)

Pack = Callable[[], bytes | None]
"""Masks and encodes an entry; None for no entry after all."""


class LogWriter:
    """A bounded queue before the log. While Redis is unavailable and the queue is full, entries are dropped and counted."""

    def __init__(self, redis_url: str, home: Path, *, most_bytes: int) -> None:
        """`most_bytes` is the maximum size of the log in Redis."""
        self._redis = Redis(redis_url, timeout_s=TIMEOUT_S)
        self.log = Log(self._redis)
        self._most_bytes = most_bytes
        self._new: list[Pack] = []
        self._packed: deque[bytes] = deque()
        self._bytes = 0
        self.journal = Journal(home / "journal")
        self._arrived = asyncio.Event()
        self._stopping = asyncio.Event()
        self._appending: asyncio.Task[None] | None = None
        self._size = EntrySize()
        self._looked = 0.0
        self.shedding = 0
        """The degree of dropping: entries of this worth or less are dropped."""
        self._shed = 0
        self._appended = 0
        self._dropped = 0

    def put(self, pack: Pack, worth: int = 1) -> None:
        """Queue an entry, packed with the others of this tick, before their answers leave. Never waits and never fails."""
        if self.shedding >= worth:
            self._shed += 1
        elif len(self._new) + len(self._packed) >= QUEUE or self._bytes > QUEUE_BYTES:
            self._dropped += 1
        else:
            self._new.append(pack)
            if len(self._new) == 1:  # together, as each alone would find cold caches
                asyncio.get_running_loop().call_soon(self._pack)
            elif len(self._new) == BATCH:  # an unpacked entry may contain a whole file
                self._pack()

    def _pack(self) -> None:
        """Pack what this tick has queued: it outlives the process from now on."""
        for pack in self._new:
            try:
                content = pack()
            except Exception:
                self._dropped += 1
                log.exception("an entry of the log cannot be packed")
                continue
            if content is not None:
                self.journal.add(content)
                self._packed.append(content)
                self._bytes += len(content)
                self._arrived.set()
        self._new.clear()

    def counts(self) -> dict[str, int]:
        """Return the counts since the start. `queued` is the length of the queue; `dropped` includes `shed`."""
        queued, dropped = len(self._new) + len(self._packed), self._dropped + self._shed
        return {"queued": queued, "dropped": dropped, "shed": self._shed, "appended": self._appended}

    async def start(self) -> None:
        """Start to append, first the entries of killed processes. Redis may be unavailable."""
        await self._redis.start()
        if found := self.journal.open():
            self._packed.extend(found)
            self._bytes += sum(map(len, found))
            self._arrived.set()
        self._appending = asyncio.get_running_loop().create_task(self._append_all())

    async def stop(self) -> list[bytes]:
        """Append queued entries for at most five seconds. Return those Redis did not take; the journal keeps them, too."""
        self._pack()
        self._stopping.set()
        self._arrived.set()
        if self._appending is not None:
            await asyncio.wait([self._appending], timeout=STOP_S)
            self._appending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._appending
        await self._redis.close()
        self.journal.close()
        return list(self._packed)

    async def _append_all(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set() or self._packed:
            await self._wait()
            self._arrived.clear()
            if not self._stopping.is_set():
                await asyncio.sleep(GATHER_S)
            while self._packed:
                # While Redis is unavailable, one entry is enough to detect its return.
                batch = list(islice(self._packed, BATCH if self._redis.up else 1))
                try:
                    await self.log.append(batch)
                    if loop.time() - self._looked > LOOK_S:
                        await self._look()
                except RedisUnavailable:
                    if self._stopping.is_set():
                        return
                    await pause(self._stopping, RETRY_S)
                    continue
                # Removed only now: after a failure they are appended again. Redis may then hold an entry twice.
                for _ in batch:
                    self._bytes -= len(self._packed.popleft())
                self.journal.remove(batch)
                self._size.note(batch)
                self._appended += len(batch)

    async def _wait(self) -> None:
        """Wait for entries. While some are dropped, check periodically whether the log has room again."""
        while self.shedding and not self._stopping.is_set():
            await pause(self._arrived, LOOK_S)
            with contextlib.suppress(RedisUnavailable):
                await self._look()
            if self._packed:
                return
        await self._arrived.wait()

    async def _look(self) -> None:
        """Decide which entries to drop at the present length of the log."""
        length, self._looked = await self.log.length(), asyncio.get_running_loop().time()
        full = length * self._size.mean / self._most_bytes
        # Hysteresis: a degree ends slightly below its start, or it would flicker.
        shedding = sum(
            full >= (limit if degree > self.shedding else 0.9 * limit) for degree, limit in enumerate(SHED_FROM, 1)
        )
        if shedding != self.shedding:
            self.shedding = shedding
            log.error("the log holds %d entries, %.1f times its bound: %s", length, full, _SHEDDING[shedding])
