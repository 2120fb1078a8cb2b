"""Send stored events on: each sink reads the log from a cursor of its own, at its own pace."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar

import msgspec

from baton.events.cloud_event import enveloped
from baton.events.from_records import event_of, topic_of
from baton.events.log import START, Log, Place, place_of, place_text
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

WAIT_S = 1.0
"""How often a sink looks for events that another machine's drain has stored, in seconds."""
LEASE_MS = 240_000
"""How long the drain of a silent machine keeps a sink, in milliseconds: longer than 20 timeouts of a webhook."""
BATCH = 20
"""Events that are sent, and given up, together. Sinks that give nothing up get whole pages of the log."""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""First and longest pause between attempts to send a batch, in seconds; each is twice the one before."""
LONGEST_ERROR = 300
_COUNTS = b"{baton}:events:sinks:"
_LEASES = b"{baton}:events:leases:"


class SinkFailed(Exception):
    """The events were not taken; they are sent again."""


class SinkEvent(msgspec.Struct, frozen=True):
    """An event as a sink gets it: its topic's short name, and the CloudEvent as JSON."""

    topic: str
    event: bytes


class Sink(Protocol):
    """An output. It has no deadline, and may get an event again after taking it."""

    name: str
    """The name of its cursor and counts."""
    attempts: int
    """How often a batch is tried before it is given up; 0 for as long as it takes."""

    async def send(self, events: Sequence[SinkEvent]) -> None:
        """Send events on, in their order.

        Raises:
            SinkFailed: If they, or some of them, were not taken.
        """
        ...

    async def close(self) -> None:
        """Release its resources without waiting for the peer."""
        ...


class SinkRunner:
    """Feeds one sink from a cursor in Redis until `finish`. A lease admits one drain at a time."""

    def __init__(
        self,
        redis: Redis,
        sink: Sink,
        topics: Mapping[str, str],
        stored: asyncio.Event,
        *,
        owner: str,
        since: Place = START,
    ) -> None:
        """`topics` are full names by short names. `stored` announces entries. `owner` leases. A new sink begins after `since`."""
        self._redis = redis
        self._log = Log(redis)
        self._sink = sink
        self._topics = topics
        self._stored = stored
        self._since = since
        self._counts = _COUNTS + sink.name.encode()
        self._lease = _LEASES + sink.name.encode()
        self._owner = owner.encode()
        self._stopping = asyncio.Event()
        self._place: Place | None = None

    def finish(self) -> None:
        """Make `run` return after the present batch, or at once if it cannot be sent."""
        self._stopping.set()

    async def run(self) -> None:
        """Send batches until `finish`. Unsent events are sent after the next start."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        try:
            while not self._stopping.is_set():
                try:
                    has_more = await self._leads() and await self._pass_on()
                    backoff.reset()
                except Exception as error:
                    if not isinstance(error, RedisUnavailable):
                        log.exception("events cannot be sent to `%s`", self._sink.name)
                    self._place = None
                    await pause(self._stopping, backoff.next_s())
                    continue
                if not has_more:
                    self._stored.clear()
                    await pause(self._stored, WAIT_S)
        finally:
            with contextlib.suppress(RedisUnavailable):
                if await self._redis.call(b"GET", self._lease) == self._owner:
                    await self._redis.call(b"DEL", self._lease)
            await self._sink.close()

    async def forget(self) -> None:
        """Remove the cursor and the counts: the sink is gone for good."""
        try:
            await self._redis.call(b"DEL", self._counts, self._lease)
        except RedisUnavailable:
            log.warning("the cursor of `%s` could not be removed", self._sink.name)

    async def _leads(self) -> bool:
        """Take or renew the lease; return whether this runner has it."""
        _, owner = await self._redis.pipeline(
            [(b"SET", self._lease, self._owner, b"NX", b"PX", LEASE_MS), (b"GET", self._lease)]
        )
        if owner != self._owner:
            self._place = None
            return False
        await self._redis.call(b"PEXPIRE", self._lease, LEASE_MS)
        return True

    async def _pass_on(self) -> bool:
        """Send the next page of stored entries; return whether there may be more."""
        if self._place is None:
            self._place = await self._start()
        page = await self._log.after(self._place, await self._log.unstored())
        if page.lost:
            await self._note({"gaps": 1})
        events = [
            (entry.place, SinkEvent(topic, enveloped(event_of(entry.content), self._topics[topic])))
            for entry in page.entries
            if entry.content is not None and (topic := topic_of(entry.content)) in self._topics
        ]
        size = BATCH if self._sink.attempts else max(1, len(events))
        for start in range(0, len(events), size):
            batch = events[start : start + size]
            if not await self._send([event for _, event in batch], batch[-1][0]):
                return False
        if page.place != self._place:
            self._place = page.place
            await self._note({}, place=page.place)
        return bool(page.entries)

    async def _start(self) -> Place:
        """Return the cursor of this sink, and note it."""
        found = await self._redis.call(b"HGET", self._counts, b"cursor")
        if found is not None:
            return place_of(found)
        place = min(self._since, await self._log.newest())
        await self._note({}, place=place)
        return place

    async def _send(self, events: list[SinkEvent], place: Place) -> bool:
        """Send events until taken or given up, and move the cursor. Return False on `finish` or without the lease."""
        backoff, attempt = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S), 0
        while await self._leads():
            attempt += 1
            try:
                await self._sink.send(events)
            except SinkFailed as error:
                log.warning("`%s` did not take events: %s", self._sink.name, error)
                await self._note({"failures": 1}, str(error))
                if attempt != self._sink.attempts:
                    await pause(self._stopping, backoff.next_s())
                    if self._stopping.is_set():
                        return False
                    continue
                counted = {"given_up": len(events)}
            else:
                counted = {"sent": len(events)}
            self._place = place
            await self._note(counted, place=place)
            return True
        return False

    async def _note(self, counted: dict[str, int], error: str = "", place: Place | None = None) -> None:
        key = self._counts
        commands: list[tuple[bytes | str | int | float, ...]] = [
            (b"HINCRBY", key, what, number) for what, number in counted.items()
        ]
        if place is not None:
            commands.append((b"HSET", key, b"cursor", place_text(place)))
        if error:
            commands.append((b"HSET", key, b"error", error[:LONGEST_ERROR], b"error_at", int(time.time())))
        await self._redis.pipeline(commands)


class SinkCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one sink, since Redis was new; `gaps` is how often entries were trimmed before the sink read them."""

    sent: int = 0
    failures: int = 0
    given_up: int = 0
    gaps: int = 0
    error: str = ""
    """The latest error."""
    error_at: int = 0
    """Its Unix time; 0 for never."""


async def sink_counts(redis: Redis, names: Sequence[str]) -> dict[str, SinkCounts]:
    """Return the counts of sinks by their names.

    Raises:
        RedisUnavailable: If Redis is unavailable.
    """
    replies = await redis.pipeline([(b"HGETALL", _COUNTS + name.encode()) for name in names])
    found = {}
    for name, flat in zip(names, replies, strict=True):
        fields = {key.decode(): value.decode() for key, value in zip(flat[::2], flat[1::2], strict=True)}
        found[name] = msgspec.convert(fields, SinkCounts, strict=False)
    return found


# Runs calls that may block for ever in a daemon thread.

T = TypeVar("T")


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Await `work` in its own thread. A caller giving up abandons the thread.

    `asyncio.to_thread` is unsuitable: at exit the interpreter waits for its executor's threads.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)
