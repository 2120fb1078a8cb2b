"""What the scorer saw of a prompt, in Redis for as long as feedback is taken. No prompt is in it."""

import msgspec

from baton.kernel.redis.client import Redis

KEPT_S = 2 * 86_400
"""How long feedback may be given, in seconds."""


class StoredTrace(msgspec.Struct, frozen=True, array_like=True):
    """Whose prompt it was, what was selected, and each agent's features, the best first."""

    user: str
    team: str
    selected: str
    agents: list[str]
    features: list[list[float]]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredTrace).decode


class RouteTraces:
    """Traces by the route's id."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def keep(self, organisation: str, route_id: str, trace: StoredTrace) -> None:
        """Store a trace without waiting for it; while Redis is away it is lost."""
        self._redis.send(b"SET", _key(organisation, route_id), _encode(trace), b"EX", KEPT_S)

    async def get(self, organisation: str, route_id: str) -> StoredTrace | None:
        """Read a trace, None if there is none any more. Raise RedisUnavailable."""
        found = await self._redis.call(b"GET", _key(organisation, route_id))
        return None if found is None else _decode(found)


def _key(organisation: str, route_id: str) -> str:
    return f"baton:route:{organisation}:{route_id}"
