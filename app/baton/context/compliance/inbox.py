"""Results of external evaluations that come over Redis: an evaluator there need not speak HTTP.

It appends to the stream `INBOX` an entry whose field `event` is an event `compliance-evaluated` as JSON, or its `data` alone.
Topics cannot take it: their entries are numbered by whoever publishes them.
"""

import asyncio
import logging

import msgspec

from baton.context.compliance.result import read_result
from baton.context.compliance.service import Compliance
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.group_reader import Entry, GroupReader

log = logging.getLogger(__name__)

INBOX = b"baton:events:inbox:compliance-evaluated"
GROUP = b"compliance"
WAIT_MS = 500
"""Longest wait for an entry, in milliseconds; stopping may take as long."""
TIMEOUT_S = 5.0
RETRY_S = 1.0
_BATCH = 50


class ComplianceInbox:
    """Takes each result once, whichever server gets it; what cannot be read is logged and dropped."""

    def __init__(self, redis_url: str, compliance: Compliance) -> None:
        self._redis = Redis(redis_url, timeout_s=TIMEOUT_S)  # its own, because it waits in Redis
        self._reader = GroupReader(self._redis, [INBOX], GROUP, batch=_BATCH)
        self._compliance = compliance

    async def run(self, stop: asyncio.Event) -> None:
        """Take results until told to stop. While Redis is away, they wait there."""
        await self._redis.start()
        try:
            self._reader.look_back()
            while not stop.is_set():
                try:
                    entries = await self._reader.take(wait_ms=WAIT_MS)
                    for entry in entries:
                        await self._take(entry)
                    await self._remove(entries)
                except (RedisUnavailable, StoreUnavailable):
                    self._reader.look_back(idle_ms=0)
                    await pause(stop, RETRY_S)
        finally:
            await self._redis.close()

    async def _take(self, entry: Entry) -> None:
        content = entry.fields.get(b"event", b"")
        try:
            result = read_result(content)
        except msgspec.MsgspecError as error:
            log.warning("a result of an external evaluation cannot be read: %s", error)
            return
        await self._compliance.receive(result.correlation_id, result.violations)

    async def _remove(self, entries: list[Entry]) -> None:
        if entries:
            await self._reader.done(entries)
            await self._redis.call(b"XDEL", INBOX, *(entry.id for entry in entries))
