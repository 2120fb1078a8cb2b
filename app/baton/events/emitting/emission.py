"""How a room tells the rest of the world that something happened.

A room gets `Events` from `main` and calls `emit` with the payload of one of the topics in `baton.events.topics`:

    self._events.emit(caller.principal, RoutingDecision(session_id=…, correlation_id=…, route_id=…, method="scorer"))

It returns at once and never fails. A task masks every text of the payload and puts it into the outbox in batches; the courier
(`baton.events.courier`) publishes it from there. Three things to know:

- **A payload that takes work to build** is given as a function, which the task calls: `emit_later(principal, build, size)`.
- **An event that may be emitted twice** (a hook that is tried again, a job that two servers see end) gets an id of its own
  nature: `emit(…, event_id=natural_id("tool-executed", session_id, tool_use_id))`. Per id one event is published.
- **Events that belong together** have one `correlation_id`: the route's id for what happens around a prompt, `call_id(…)` for a
  tool call, the job's id for a job.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Protocol

import msgspec
from uuid_utils import UUID, uuid5, uuid7

from baton.engine.call.principal import Principal
from baton.engine.text.masking import mask_json, suspicious
from baton.events.payloads.base import Payload
from baton.events.redis_streams.outbox import Emission, Outbox
from baton.events.topics import BY_PAYLOAD, Topic
from baton.kernel.base.pause import pause
from baton.kernel.base.storable import storable, storable_json
from baton.kernel.redis.client import Redis, RedisUnavailable

log = logging.getLogger(__name__)

MOST_QUEUED = 10_000
"""Events that wait in memory while Redis is away; more are dropped and counted."""
MOST_QUEUED_BYTES = 16 << 20
BATCH = 50
LARGEST_BATCH = 65_536
"""Characters that are masked together, a few milliseconds of the event loop; a single event may be larger."""
GATHER_S = 0.01
"""How long events gather before a batch is sent, in seconds."""
TIMEOUT_S = 5.0
"""Longest wait for Redis, in seconds; nobody waits for this connection."""
RETRY_S = 0.1
STOP_S = 2.0
"""Longest time that stopping waits for Redis, in seconds."""
_USUAL_SIZE = 500
"""Bytes that an event without long texts is taken to have."""

_encode_json = msgspec.json.Encoder().encode
_encode = msgspec.msgpack.Encoder().encode
_NAMESPACE = UUID("6f1c8f0e-6f0c-5c1e-9d53-0a8f5b6f3a10")
"""Of the ids that events have by their own nature."""
Build = Callable[[], Payload | None]
"""Makes a payload; None for no event after all."""


class Emitter(Protocol):
    """Where a room emits its events."""

    def emit(self, principal: Principal, payload: Payload, *, event_id: str = "") -> None:
        """Emit an event of the principal's. Never wait and never fail."""
        ...

    def emit_later(self, principal: Principal, build: Build, *, size: int, topic: str = "", event_id: str = "") -> None:
        """Emit what `build` makes, which is called when nobody waits.

        `size` is about how many bytes it will have; with the `topic` it is not built where that is switched off.
        """
        ...


class NoEvents:
    """The emitter of a server with `BATON_EVENTS=off`."""

    def emit(self, principal: Principal, payload: Payload, *, event_id: str = "") -> None:
        """Drop the event."""

    def emit_later(self, principal: Principal, build: Build, *, size: int, topic: str = "", event_id: str = "") -> None:
        """Drop the event."""


NO_EVENTS: Emitter = NoEvents()


class _Waiting(msgspec.Struct, frozen=True):
    principal: Principal
    payload: Payload | Build
    event_id: str
    at_ms: int
    size: int


class Events:
    """A bounded queue before the outbox. While Redis is away and the queue is full, events are dropped and counted."""

    def __init__(self, redis_url: str, *, without: Iterable[str] = ()) -> None:
        self._redis = Redis(redis_url, timeout_s=TIMEOUT_S)
        self._outbox = Outbox(self._redis)
        self._without = frozenset(without)
        """Short names of the topics that nothing is emitted to."""
        self._queue: deque[_Waiting] = deque()
        self._size = 0
        self._arrived = asyncio.Event()
        self._stopping = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None
        self._emitted = 0
        self._dropped = 0

    def emit(self, principal: Principal, payload: Payload, *, event_id: str = "") -> None:
        """Emit an event of the principal's; see `Emitter`."""
        if BY_PAYLOAD[type(payload)].name not in self._without:
            self._put(_Waiting(principal, payload, event_id, int(time.time() * 1000), _USUAL_SIZE))

    def emit_later(self, principal: Principal, build: Build, *, size: int, topic: str = "", event_id: str = "") -> None:
        """Emit what `build` makes; see `Emitter`."""
        if topic not in self._without:
            self._put(_Waiting(principal, build, event_id, int(time.time() * 1000), size + _USUAL_SIZE))

    def counts(self) -> dict[str, int]:
        """Return the counts since the start; `queued` is the present length of the queue."""
        return {"queued": len(self._queue), "dropped": self._dropped, "emitted": self._emitted}

    async def start(self) -> None:
        """Start to send. Redis may be away."""
        await self._redis.start()
        self._sending = asyncio.get_running_loop().create_task(self._send_all())

    async def stop(self) -> None:
        """Send what is queued, for at most two seconds; the rest is counted as dropped."""
        self._stopping.set()
        self._arrived.set()
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=STOP_S)
            self._sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sending
        if self._queue:
            self._dropped += len(self._queue)
            log.warning("%d events are lost: redis did not take them", len(self._queue))
        await self._redis.close()

    def _put(self, waiting: _Waiting) -> None:
        if len(self._queue) >= MOST_QUEUED or self._size + waiting.size > MOST_QUEUED_BYTES:
            self._dropped += 1
            return
        self._queue.append(waiting)
        self._size += waiting.size
        self._arrived.set()

    async def _send_all(self) -> None:
        while not self._stopping.is_set() or self._queue:
            await self._arrived.wait()
            self._arrived.clear()
            if not self._stopping.is_set():
                await asyncio.sleep(GATHER_S)
            while self._queue:
                batch = self._take()
                packed = [entry for waiting in batch if (entry := self._pack(waiting)) is not None]
                if not await self._append(packed):
                    return
                # A long text was masked just now: whatever else is ready goes first.
                await asyncio.sleep(0)

    def _take(self) -> list[_Waiting]:
        """Take the first events off the queue, as many as can be masked without delaying the event loop."""
        batch: list[_Waiting] = []
        size = 0
        while self._queue and len(batch) < BATCH:
            size += self._queue[0].size
            if batch and size > LARGEST_BATCH:
                break
            batch.append(self._queue.popleft())
            self._size -= batch[-1].size
        return batch

    async def _append(self, packed: list[bytes]) -> bool:
        """Append events to the outbox, waiting while Redis is away; return False if the server stops before that."""
        # The ids are in the packed events: one that Redis took although it did not answer in time is published once.
        while packed:
            try:
                self._emitted += len(packed) - await self._outbox.append(packed)
            except RedisUnavailable:
                if self._stopping.is_set():
                    self._dropped += len(packed)
                    return False
                await pause(self._stopping, RETRY_S)
            else:
                return True
        return True

    def _pack(self, waiting: _Waiting) -> bytes | None:
        """Mask and encode an event; return None if there is none after all, or it cannot be encoded."""
        try:
            payload = waiting.payload if isinstance(waiting.payload, Payload) else waiting.payload()
            if payload is None or BY_PAYLOAD[type(payload)].name in self._without:
                return None
            return pack(waiting.principal, payload, event_id=waiting.event_id, at_ms=waiting.at_ms)
        except Exception:
            self._dropped += 1
            log.exception("an event cannot be packed")
            return None


def pack(principal: Principal, payload: Payload, *, event_id: str, at_ms: int) -> bytes:
    """Return an event as an entry of the outbox, with secrets masked and every text storable."""
    topic: Topic = BY_PAYLOAD[type(payload)]
    return _encode(
        Emission(
            topic.name,
            event_id or str(uuid7()),
            at_ms,
            principal.organisation,
            principal.team,
            principal.user,
            masked_json(payload),
        )
    )


def masked_json(payload: Payload) -> bytes:
    """Return a payload as JSON with secrets masked."""
    built = msgspec.to_builtins(payload)
    texts: list[str] = []
    _collect(built, texts)
    together = "\n".join(texts)
    if not together.isascii() or "\0" in together:
        built = storable_json(built)
    if suspicious(together):
        built = mask_json(built)
    return _encode_json(built)


def _collect(value: Any, texts: list[str]) -> None:
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for part in value.values():
            _collect(part, texts)
    elif isinstance(value, list | tuple):
        for part in value:
            _collect(part, texts)


def natural_id(*parts: str) -> str:
    """Return the id of an event that these parts name: whoever emits it, and however often, it is one event."""
    # With the lengths, ("ab", "c") and ("a", "bc") get different ids.
    return str(uuid5(_NAMESPACE, "".join(f"{len(part)}:{storable(part)}" for part in parts)))


@lru_cache(maxsize=4_096)
def session_entity(organisation: str, user: str, session_id: str) -> str:
    """Return the id of a session as an entity: the same for all events of one session."""
    return natural_id("session", organisation, user, session_id)


def call_id(organisation: str, user: str, session_id: str, tool_use_id: str) -> str:
    """Return the `correlation_id` of everything about one tool call; "" for a call without an id."""
    return natural_id("call", organisation, user, session_id, tool_use_id) if tool_use_id else ""
