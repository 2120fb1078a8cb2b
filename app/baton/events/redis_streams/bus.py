"""The bus: one bounded Redis stream a topic, on which every event is published once."""

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from baton.events.feed import FEED, FEED_LENGTH
from baton.events.topics import BY_NAME, TOPICS
from baton.kernel.redis.client import Redis, Script

PERIOD_S = 600
"""An id is remembered for at least as long after it was published, in seconds, and for less than twice as long."""
_IDS = b"baton:events:ids:"
_STREAM = b"baton:events:topic:"
_COUNTS = b"baton:events:counts:"
_FOLDER = Path(__file__).parent
_BOUNDS = Script.read(_FOLDER / "bounds.lua")
_PUBLISH = Script.read(_FOLDER / "publish.lua", after=_BOUNDS)
_TRIM = Script.read(_FOLDER / "trim.lua", after=_BOUNDS)


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much one stream holds; the oldest events leave first."""

    entries: int
    bytes: int
    age_s: int


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """An event that is ready to be published: `event` is its CloudEvent as JSON."""

    topic: str
    id: str
    user: str
    team: str
    event: bytes


def stream_of(topic: str) -> bytes:
    """Return the key of a topic's stream."""
    return _STREAM + topic.encode()


def counts_of(topic: str) -> bytes:
    """Return the key of a topic's counts: `number` of the newest event, `entries`, `bytes`, and `removed` by the bounds."""
    return _COUNTS + topic.encode()


class Bus:
    """The streams as their writer uses them."""

    def __init__(self, redis: Redis, bounds: Bounds) -> None:
        self._redis = redis
        self._bounds = bounds

    async def publish(self, events: Sequence[Publication]) -> list[int]:
        """Publish events; return each one's number in its topic, 0 for one that was published before.

        Raises:
            RedisUnavailable: If Redis is away; it may have taken them all the same.
        """
        period = int(time.time() // PERIOD_S)
        keys = [_IDS + str(period).encode(), _IDS + str(period - 1).encode(), FEED]
        arguments: list[bytes | int | str] = [
            3 * PERIOD_S,
            self._bounds.entries,
            self._bounds.bytes,
            self._bounds.age_s * 1000,
            FEED_LENGTH,
        ]
        for one in events:
            keys += [stream_of(one.topic), counts_of(one.topic)]
            arguments += [one.id, one.user, one.team, one.event, int(BY_NAME[one.topic].live)]
        numbers: list[int] = await self._redis.script(_PUBLISH, keys, arguments)
        return numbers

    async def trim(self) -> None:
        """Remove what has grown too old from every topic.

        Raises:
            RedisUnavailable: If Redis is away.
        """
        keys = [key for topic in TOPICS for key in (stream_of(topic.name), counts_of(topic.name))]
        await self._redis.script(_TRIM, keys, [self._bounds.entries, self._bounds.bytes, self._bounds.age_s * 1000])


async def counts(redis: Redis) -> dict[str, dict[str, int]]:
    """Return each topic's counts by its short name; a topic without events has none.

    Raises:
        RedisUnavailable: If Redis is away.
    """
    replies = await redis.pipeline([(b"HGETALL", counts_of(topic.name)) for topic in TOPICS])
    return {
        topic.name: {field.decode(): int(value) for field, value in zip(flat[::2], flat[1::2], strict=True)}
        for topic, flat in zip(TOPICS, replies, strict=True)
        if flat
    }
