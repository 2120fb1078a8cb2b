"""Advice on a call, for clients that show it to the model only beside the call's result: kept in Redis until then."""

from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.session_keys import session_tag
from baton.sessions.history import name_of_call

LIFETIME_S = 3_600
"""How long advice waits for the result of its call, in seconds."""


class LateAdvice:
    """The advice on calls that run now."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def keep(self, principal: Principal, call: ToolCall, text: str) -> None:
        """Keep the advice on a call; nobody waits for it."""
        if call.session_id:
            self._redis.send(b"SET", _key(principal, call), text, b"EX", str(LIFETIME_S))

    async def take(self, principal: Principal, call: ToolCall) -> str:
        """Return the advice on a call that has run, once; "" for none, and where Redis is away."""
        if not call.session_id:
            return ""
        key = _key(principal, call)
        try:
            text, _ = await self._redis.pipeline([(b"GET", key), (b"DEL", key)])
        except RedisUnavailable:
            return ""
        return (text or b"").decode()


def _key(principal: Principal, call: ToolCall) -> bytes:
    return b"baton:advice:%b:%b" % (session_tag(principal, call.session_id), name_of_call(call))
