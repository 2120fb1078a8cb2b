"""Exports decisions, routes and ended jobs to an OpenTelemetry collector, from the storing process.

No answer and no record waits for a collector: anything it does not take is dropped and counted.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import islice

import msgspec

from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.rules.call.record import Record

JOBS_KEY = b"{baton}:telemetry:jobs"
"""The list of ended jobs that the storing process takes from; bounded."""
COUNTS_KEY = b"{baton}:telemetry:counts"
MOST_JOBS = 1_000
MOST_QUEUED = 2_000
"""Ended jobs in Redis, and records in memory, that wait for the collector; what comes beyond is dropped."""
BATCH = 200
LOOK_S = 1.0
"""How often it sends, in seconds."""
LONGEST_PAUSE_S = 30.0
"""Longest pause after a collector took nothing, in seconds."""

_encode = msgspec.msgpack.Encoder().encode


class TelemetryOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of spans and log events: the base of an OTLP endpoint over HTTP, and its headers."""

    endpoint: str
    headers: dict[str, str] = {}


class EndedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One ended attempt of a job, without its prompt and output."""

    id: str
    attempt: int
    organisation: str
    team: str
    user: str
    session_id: str
    project: str
    provider: str
    agent_type: str
    model: str
    state: str
    error_code: str
    began_at: datetime
    ended_at: datetime
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    traceparent: str = ""


_decode_job = msgspec.msgpack.Decoder(EndedAttempt).decode
Traced = Record | EndedAttempt
Export = Callable[[Sequence[Traced]], bool]
"""Sends spans and log events, and returns whether the collector took them. It may take seconds: it runs in a thread."""


class JobTraces:
    """Reports ended jobs to the storing process; does nothing without a configured collector."""

    def __init__(self, redis: Redis, *, is_on: bool) -> None:
        self._redis = redis
        self.is_on = is_on

    def ended(self, job: EndedAttempt) -> None:
        """Note an ended job; nobody waits for it."""
        if self.is_on:
            self._redis.send(b"RPUSH", JOBS_KEY, _encode(job))
            self._redis.send(b"LTRIM", JOBS_KEY, -MOST_JOBS, -1)


class Telemetry:
    """A bounded queue before the collector."""

    def __init__(self, redis: Redis, export: Export) -> None:
        self._redis = redis
        self._export = export
        self._queue: deque[Traced] = deque()
        self._stopping = asyncio.Event()
        self.sent = 0
        self.dropped = 0
        self._counted = (0, 0)

    def export(self, records: Sequence[Record]) -> None:
        """Queue stored decisions and routes; other records have no span."""
        traced = [one for one in records if (one.event == "PreToolUse" or one.routed_by) and not one.repeats]
        room = MOST_QUEUED - len(self._queue)
        self._queue.extend(traced[:room])
        self.dropped += max(0, len(traced) - room)

    def finish(self) -> None:
        """Make `run` send the queue once more, and return."""
        self._stopping.set()

    async def run(self) -> None:
        """Send queued entries until `finish`."""
        wait_s = LOOK_S
        while not self._stopping.is_set():
            await pause(self._stopping, wait_s)
            has_worked = await self._send()
            wait_s = LOOK_S if has_worked else min(2 * wait_s, LONGEST_PAUSE_S)
            await self._count()

    async def _send(self) -> bool:
        """Send the whole queue. Return False as soon as the collector rejects an entry."""
        while batch := [*await self._jobs(), *islice(self._queue, BATCH)]:
            for _ in range(min(BATCH, len(self._queue))):
                self._queue.popleft()
            if not await asyncio.to_thread(self._export, batch):
                self.dropped += len(batch)
                return False
            self.sent += len(batch)
        return True

    async def _jobs(self) -> list[EndedAttempt]:
        try:
            found = await self._redis.call(b"LPOP", JOBS_KEY, BATCH)
        except RedisUnavailable:
            return []
        jobs = []
        for one in found or ():
            with contextlib.suppress(msgspec.MsgspecError):  # of another version of Baton
                jobs.append(_decode_job(one))
        return jobs

    async def _count(self) -> None:
        now = (self.sent, self.dropped)
        for name, count, before in zip((b"sent", b"dropped"), now, self._counted, strict=True):
            if count != before:
                self._redis.send(b"HINCRBY", COUNTS_KEY, name, count - before)
        self._counted = now


class TelemetryStats:
    """The collectors' totals, of all servers of one Redis."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def read(self) -> dict[str, int]:
        """Return how many decisions, routes and jobs were sent and dropped; empty while Redis is unavailable, or for none."""
        try:
            flat = await self._redis.call(b"HGETALL", COUNTS_KEY)
        except RedisUnavailable:
            return {}
        return {name.decode(): int(count) for name, count in zip(flat[::2], flat[1::2], strict=True)}
