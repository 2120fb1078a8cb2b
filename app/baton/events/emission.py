"""Publishes events.

A room gets the `Emitter` from `main` and calls `emit` with the payload of one of the topics in `baton.events.topics`:

    self._events.emit(caller.principal, RoutingDecision(session_id=…, correlation_id=…, route_id=…, method="scorer"))

It never waits and never fails. Before the answer leaves, the payload's strings are masked and the event is queued for the log
(`baton.events.log`); `GET /events/topics/{topic}` and the sinks read it there. Three rules:

- **A costly payload** is given as a function, called if the event is wanted: `emit_built(principal, build, topic=…)`.
- **A possibly repeated event** (a repeated hook, a job that two servers see end) gets a natural id:
  `emit(…, event_id=natural_id("tool-executed", session_id, tool_use_id))`. Consumers drop repeated ids.
- **Related events** share one `correlation_id`: the route's id for events around a prompt, `call_id(…)` for a
  tool call, the job's id for a job.
"""

import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec
from uuid_utils import UUID, uuid5, uuid7

from baton.events.log import Emission
from baton.events.payloads import Payload
from baton.events.topics import BY_PAYLOAD, Topic
from baton.events.writer import LogWriter
from baton.lib.text.masking import mask_json, suspicious
from baton.rules.call.call import Principal
from baton.shared.storable import storable, storable_json

_encode_json = msgspec.json.Encoder().encode
_encode = msgspec.msgpack.Encoder().encode
_NAMESPACE = UUID("6f1c8f0e-6f0c-5c1e-9d53-0a8f5b6f3a10")
"""Of the ids that events have by their own nature."""
Build = Callable[[], Payload | None]
"""Makes a payload; None for no event after all."""


class Emitter:
    """Puts a room's events into the log. It never waits and never fails."""

    def __init__(self, writer: LogWriter | None, *, without: Iterable[str] = ()) -> None:
        """`without` are the short names of the switched-off topics. Without a writer all are."""
        self._writer = writer
        self._without = frozenset(without)

    def emit(self, principal: Principal, payload: Payload, *, event_id: str = "") -> None:
        """Emit an event of the principal's."""
        self.emit_built(principal, lambda: payload, topic=BY_PAYLOAD[type(payload)].name, event_id=event_id)

    def emit_built(self, principal: Principal, build: Build, *, topic: str, event_id: str = "") -> None:
        """Emit the result of `build`. It is not called if the topic is switched off, or events are dropped."""
        if self._writer is None or topic in self._without:
            return

        def packed() -> bytes | None:
            payload = build()
            return None if payload is None else pack(principal, payload, event_id=event_id)

        self._writer.put(packed)


NO_EVENTS = Emitter(None)
"""The emitter of a server with `BATON_EVENTS=off`."""


def pack(principal: Principal, payload: Payload, *, event_id: str) -> bytes:
    """Return an event as an entry of the log, with secrets masked and every string storable."""
    topic: Topic = BY_PAYLOAD[type(payload)]
    return _encode(
        Emission(
            topic.name,
            event_id or str(uuid7()),
            int(time.time() * 1000),
            principal.organisation,
            storable(principal.team),
            storable(principal.user),
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
    """Return a stable id for an event with these parts."""
    # With the lengths, ("ab", "c") and ("a", "bc") get different ids.
    return str(uuid5(_NAMESPACE, "".join(f"{len(part)}:{storable(part)}" for part in parts)))


@lru_cache(maxsize=4_096)
def session_entity(organisation: str, user: str, session_id: str) -> str:
    """Return the id of a session as an entity: the same for all events of one session."""
    return natural_id("session", organisation, user, session_id)


def call_id(organisation: str, user: str, session_id: str, tool_use_id: str) -> str:
    """Return the `correlation_id` of everything about one tool call; "" for a call without an id."""
    return natural_id("call", organisation, user, session_id, tool_use_id) if tool_use_id else ""
