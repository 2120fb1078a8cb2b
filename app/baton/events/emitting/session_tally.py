"""Counts the tool calls of each session as they are published, so that its end can say how long it was and how it went."""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET

from baton.events.emitting.emission import masked_json, natural_id, session_entity
from baton.events.payloads.base import Payload
from baton.events.payloads.sessions import SessionEnded, SessionOutcome, SessionOutcomeCommand, SessionStarted
from baton.events.payloads.tools import ToolExecuted
from baton.events.redis_streams.outbox import Emission
from baton.events.topics import BY_PAYLOAD
from baton.kernel.redis.client import Redis, Script

KEPT_S = 7 * 86_400
"""How long a session may be silent before its counts are forgotten, in seconds."""
_SEEN = frozenset({"session-started", "tool-executed", "session-ended"})
_COUNT = Script.read(Path(__file__).with_name("tally.lua"))
_started = msgspec.json.Decoder(SessionStarted).decode
_executed = msgspec.json.Decoder(ToolExecuted).decode
_ended = msgspec.json.Decoder(SessionEnded).decode


class SessionTally:
    """Fills in the end of a session, and makes the events of its outcome."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def followed(self, emission: Emission) -> list[Emission]:
        """Return an emission with what is known of its session, and what follows from it.

        An emission that comes twice is counted once, by its id.

        Raises:
            RedisUnavailable: If Redis is away.
        """
        if emission.topic not in _SEEN:
            return [emission]
        if emission.topic == "session-started":
            await self._count(emission, _started(emission.data).session_id, "started")
            return [emission]
        if emission.topic == "tool-executed":
            executed = _executed(emission.data)
            await self._count(emission, executed.session_id, "ran" if executed.success else "failed")
            return [emission]
        return await self._end(emission, _ended(emission.data))

    async def _count(self, emission: Emission, session_id: str, what: str) -> None:
        if session_id:
            key = _key(emission, session_id)
            await self._redis.script(_COUNT, [key, key + b":ids"], [emission.id, what, emission.at_ms, KEPT_S])

    async def _end(self, emission: Emission, ended: SessionEnded) -> list[Emission]:
        flat = await self._redis.call(b"HMGET", _key(emission, ended.session_id), b"at", b"ran", b"failed", b"last")
        started_ms, ran, failed = (int(value or 0) for value in flat[:3])
        used = ran + failed
        whole = msgspec.structs.replace(
            ended,
            duration_seconds=max(0, emission.at_ms - started_ms) / 1000 if started_ms else UNSET,
            tools_used_count=used,
        )
        outcome = _outcome(used, (flat[3] or b"").decode(), seen=started_ms > 0)
        ids = {"session_id": ended.session_id, "correlation_id": ended.correlation_id}
        counts = {"tools_used_count": used, "tools_failed_count": failed}
        more = [kind(**ids, outcome=outcome, **counts) for kind in (SessionOutcome, SessionOutcomeCommand)]  # type: ignore[arg-type]
        return [
            msgspec.structs.replace(emission, data=masked_json(whole)),
            *(_following(emission, payload) for payload in more),
        ]


def _outcome(used: int, last: str, *, seen: bool) -> Literal["success", "failed", "abandoned", "unknown"]:
    if not seen:
        return "unknown"
    if not used:
        return "abandoned"
    return "failed" if last == "failed" else "success"


def _following(emission: Emission, payload: Payload) -> Emission:
    topic = BY_PAYLOAD[type(payload)].name
    # Named after the end that it follows from: an end that is delivered twice has one outcome.
    return msgspec.structs.replace(emission, topic=topic, id=natural_id(topic, emission.id), data=masked_json(payload))


def _key(emission: Emission, session_id: str) -> bytes:
    return b"baton:events:session:" + session_entity(emission.organisation, emission.user, session_id).encode()
