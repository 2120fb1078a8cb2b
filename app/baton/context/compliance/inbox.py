"""Results of external evaluations over Redis, without HTTP.

It appends to the stream `INBOX` an entry whose field `event` is an event `compliance-evaluated` as JSON, or its `data` alone.
"""

import asyncio
import logging
from typing import Annotated

import msgspec

from baton.context.compliance.evaluator import MOST_PATTERNS
from baton.context.compliance.service import Compliance, PatternViolation
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.group_reader import GroupReader, StreamEntry

# The result of an external evaluation over a message system, and its only reader.

LARGEST = 64 << 10
"""Maximum bytes of a result: ten messages of 300 characters, with room for an evaluator's own fields."""


class EvaluationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one request, as accepted by `POST /compliance/results`; other fields are ignored."""

    correlation_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    violations: Annotated[list[PatternViolation], msgspec.Meta(max_length=MOST_PATTERNS)]


class _Event(msgspec.Struct, frozen=True):
    data: EvaluationResult


_event = msgspec.json.Decoder(_Event).decode
_result = msgspec.json.Decoder(EvaluationResult).decode


def read_result(content: bytes) -> EvaluationResult:
    """Read an event `compliance-evaluated` as JSON, or its `data` alone.

    Raises:
        msgspec.MsgspecError: If it is neither, or larger than `LARGEST`.
    """
    if len(content) > LARGEST:
        raise msgspec.ValidationError(f"{len(content)} bytes; at most {LARGEST}")
    fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    return _event(content).data if "data" in fields else _result(content)


log = logging.getLogger(__name__)

INBOX = b"{baton}:events:inbox:compliance-evaluated"
GROUP = b"compliance"
WAIT_MS = 500
"""Timeout of a wait for an entry, in milliseconds; stopping may take as long."""
TIMEOUT_S = 5.0
RETRY_S = 1.0
_BATCH = 50


class ComplianceInbox:
    """Processes each result once among all servers; unreadable ones are logged and dropped."""

    def __init__(self, redis_url: str, compliance: Compliance) -> None:
        self._redis = Redis(redis_url, timeout_s=TIMEOUT_S)  # its own, because it waits in Redis
        self._reader = GroupReader(self._redis, INBOX, GROUP, batch=_BATCH)
        self._compliance = compliance

    async def run(self, stop: asyncio.Event) -> None:
        """Process results until stopped. While Redis is unavailable, they wait there."""
        await self._redis.start()
        try:
            self._reader.look_back()
            while not stop.is_set():
                try:
                    entries = await self._reader.take(wait_ms=WAIT_MS)
                    for entry in entries:
                        await self._take(entry)
                    await self._reader.done(entries)
                except (RedisUnavailable, StoreUnavailable):
                    self._reader.look_back(idle_ms=0)
                    await pause(stop, RETRY_S)
        finally:
            await self._redis.close()

    async def _take(self, entry: StreamEntry) -> None:
        content = entry.fields.get(b"event", b"")
        try:
            result = read_result(content)
        except msgspec.MsgspecError as error:
            log.warning("a result of an external evaluation cannot be read: %s", error)
            return
        await self._compliance.receive(result.correlation_id, result.violations)
