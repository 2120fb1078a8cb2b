"""What is sent on from the bus: each sink reads it in a group of its own, at its own pace."""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Protocol

import msgspec

from baton.events.redis_streams import bus
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.group_reader import Entry, GroupReader
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

TIMEOUT_S = 5.0
"""Longest wait for Redis, in seconds."""
WAIT_MS = 1_000
"""Longest wait for new events, in milliseconds; stopping may take as long."""
BATCH = 20
"""Events of one topic that are sent together."""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""First and longest pause between attempts to send a batch, in seconds; each is twice the one before."""
LONGEST_ERROR = 300
_COUNTS = b"baton:events:sinks:"


class SinkFailed(Exception):
    """The events were not taken; they are sent again."""


class SinkEvent(msgspec.Struct, frozen=True):
    """An event as a sink gets it: its topic's short name, and the CloudEvent as JSON."""

    topic: str
    number: int
    event: bytes


class Sink(Protocol):
    """A way out. It may take as long as it wants, and may get an event again that it has taken."""

    name: str
    """Names its group on the bus and its counts: another name begins anew."""
    attempts: int
    """How often a batch is tried before it is given up; 0 for as long as it takes."""

    async def send(self, events: Sequence[SinkEvent]) -> None:
        """Send events on, in their order.

        Raises:
            SinkFailed: If they, or some of them, were not taken.
        """
        ...

    async def close(self) -> None:
        """Release what it holds, without waiting for the other end."""
        ...


class SinkRunner:
    """Feeds one sink until told to finish."""

    def __init__(self, redis_url: str, sink: Sink, topics: Sequence[str], *, start: bytes = b"0") -> None:
        self._redis = Redis(redis_url, timeout_s=TIMEOUT_S)
        self._sink = sink
        self._topics = {bus.stream_of(topic): topic for topic in topics}
        self._group = b"sink:" + sink.name.encode()
        self._reader = GroupReader(self._redis, list(self._topics), self._group, batch=BATCH, start=start)
        self._stopping = asyncio.Event()
        self._last: dict[bytes, int] = {}

    def finish(self) -> None:
        """Make `run` return when the batch at hand is sent, or at once where it cannot be."""
        self._stopping.set()

    async def run(self) -> None:
        """Send batches until told to finish. What was taken and not sent comes again at the next start."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        await self._redis.start()
        self._reader.look_back(idle_ms=0)
        try:
            await self._recall()
            while not self._stopping.is_set():
                try:
                    entries = [entry for entry in await self._reader.take(wait_ms=WAIT_MS) if entry.fields]
                    if entries:
                        await self._pass_on(entries)
                    backoff.reset()
                except Exception as error:
                    if not isinstance(error, RedisUnavailable):
                        log.exception("events cannot be sent to `%s`", self._sink.name)
                    self._reader.look_back(idle_ms=0)
                    await pause(self._stopping, backoff.next_s())
        finally:
            await self._sink.close()
            await self._redis.close()

    async def forget(self) -> None:
        """Remove the group and the counts: the sink is gone for good."""
        redis = Redis(self._redis.url, timeout_s=TIMEOUT_S)
        await redis.start()
        try:
            await redis.pipeline(
                [
                    *((b"XGROUP", b"DESTROY", stream, self._group) for stream in self._topics),
                    (b"DEL", _COUNTS + self._sink.name.encode()),
                ]
            )
        except RedisUnavailable:
            log.warning("the group of `%s` could not be removed", self._sink.name)
        finally:
            await redis.close()

    async def _pass_on(self, entries: list[Entry]) -> None:
        events = [
            SinkEvent(self._topics[entry.stream], int(entry.fields[b"n"]), entry.fields[b"event"]) for entry in entries
        ]
        counted: dict[str, int] = {"missed": self._missed(entries)}
        backoff, attempt = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S), 0
        while True:
            attempt += 1
            try:
                await self._sink.send(events)
            except SinkFailed as error:
                log.warning("`%s` did not take events: %s", self._sink.name, error)
                await self._note({"failures": 1}, str(error))
                if self._stopping.is_set():
                    return  # they are not acknowledged, and come again
                if attempt == self._sink.attempts:
                    counted["given_up"] = len(events)
                    break
                await pause(self._stopping, backoff.next_s())
            else:
                counted["sent"] = len(events)
                break
        await self._reader.done(entries)
        reached = {_at(entry.stream): self._last[entry.stream] for entry in entries}
        await self._note(counted, reached=reached)

    async def _recall(self) -> None:
        """Read up to which event of each topic this sink came before, as far as Redis knows it."""
        try:
            numbers = await self._redis.call(b"HMGET", _COUNTS + self._sink.name.encode(), *map(_at, self._topics))
        except RedisUnavailable:
            return
        self._last = {stream: int(n) for stream, n in zip(self._topics, numbers, strict=True) if n is not None}

    def _missed(self, entries: list[Entry]) -> int:
        """Return how many events left the bus before this sink came to read them."""
        missed = 0
        for entry in entries:
            number, last = int(entry.fields[b"n"]), self._last.get(entry.stream)
            missed += max(0, number - last - 1) if last is not None else 0
            self._last[entry.stream] = max(number, last or 0)
        return missed

    async def _note(self, counted: dict[str, int], error: str = "", reached: dict[bytes, int] | None = None) -> None:
        key = _COUNTS + self._sink.name.encode()
        commands: list[tuple[bytes | str | int | float, ...]] = [
            (b"HINCRBY", key, what, number) for what, number in counted.items() if number
        ]
        commands += [(b"HSET", key, field, number) for field, number in (reached or {}).items()]
        if error:
            commands.append((b"HSET", key, b"error", error[:LONGEST_ERROR], b"error_at", int(time.time())))
        if commands:
            await self._redis.pipeline(commands)


def _at(stream: bytes) -> bytes:
    return b"at:" + stream


class SinkCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What became of events at one sink, since Redis was new; `missed` left the bus before the sink read them."""

    sent: int = 0
    failures: int = 0
    given_up: int = 0
    missed: int = 0
    error: str = ""
    """What the sink said last that did not take events."""
    error_at: int = 0
    """When that was, in seconds of Unix time; 0 for never."""


async def sink_counts(redis: Redis, names: Sequence[str]) -> dict[str, SinkCounts]:
    """Return the counts of sinks by their names.

    Raises:
        RedisUnavailable: If Redis is away.
    """
    replies = await redis.pipeline([(b"HGETALL", _COUNTS + name.encode()) for name in names])
    found = {}
    for name, flat in zip(names, replies, strict=True):
        fields = {key.decode(): value.decode() for key, value in zip(flat[::2], flat[1::2], strict=True)}
        found[name] = msgspec.convert(fields, SinkCounts, strict=False)
    return found
