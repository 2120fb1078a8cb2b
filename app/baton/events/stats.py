"""What operators see of events: how many were emitted, published, dropped, and how many wait."""

import msgspec

from baton.events.emitting.emission import Emitter, Events
from baton.events.redis_streams import bus
from baton.events.redis_streams.outbox import Outbox
from baton.kernel.redis.client import Redis, RedisUnavailable


class EventCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one moment; those of Redis are of all servers, and 0 while it is away.

    `dropped` found no room in this server's memory, `refused` none in the outbox. `published` and `removed` are by topic:
    what was removed by the bounds may have been read before.
    """

    queued: int = 0
    emitted: int = 0
    dropped: int = 0
    waiting: int = 0
    refused: int = 0
    published: dict[str, int] = {}
    removed: dict[str, int] = {}


class EventStats:
    """Reads the counts."""

    def __init__(self, emitter: Emitter, redis: Redis) -> None:
        self._emitter = emitter
        self._redis = redis

    def own(self) -> dict[str, int]:
        """Return this server's own counts: `queued`, `emitted` and `dropped`."""
        return self._emitter.counts() if isinstance(self._emitter, Events) else {}

    async def read(self) -> EventCounts:
        """Return all counts."""
        try:
            outbox = await Outbox(self._redis).counts()
            topics = await bus.counts(self._redis)
        except RedisUnavailable:
            return EventCounts(**self.own())  # type: ignore[arg-type] # of three fields that are numbers
        own = self.own()
        return EventCounts(
            queued=own.get("queued", 0),
            emitted=own.get("emitted", 0),
            dropped=own.get("dropped", 0),
            waiting=outbox["waiting"],
            refused=outbox["dropped"],
            published={name: found.get("number", 0) for name, found in topics.items()},
            removed={name: found["removed"] for name, found in topics.items() if "removed" in found},
        )
