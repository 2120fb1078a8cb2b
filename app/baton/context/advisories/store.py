"""The advisories that wait for a session's next prompt, in Redis."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from baton.context.advisories.advisory import Advisory
from baton.engine.call.principal import Principal
from baton.kernel.redis.client import Redis, Script
from baton.kernel.redis.session_keys import session_tag

MOST_KEPT = 10
"""The newest advisories that a session keeps. Seed 004, as are the numbers below."""
MOST_SHOWN = 5
"""Advisories of one prompt: the first of those that are kept; the others go with them."""
STALE_S = 3_600
"""Seconds since a session's last advisory after which none of them is worth saying; at exactly so many they are."""
KEPT_S = 86_400
"""Seconds after which Redis removes what no prompt has read."""

_HERE = Path(__file__)
_ADD = Script.read(_HERE.with_name("add.lua"), most=MOST_KEPT, stale_s=STALE_S, kept_s=KEPT_S)
_TAKE = Script.read(_HERE.with_name("take.lua"), stale_s=STALE_S)
_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Advisory).decode


class Advisories:
    """Each session's advisories. All methods raise `RedisUnavailable`."""

    def __init__(self, redis: Redis, now: Callable[[], float] = time.time) -> None:
        self._redis = redis
        self._now = now

    async def add(self, principal: Principal, session_id: str, advisories: Sequence[Advisory]) -> None:
        """Add advisories. Of those about one pattern the first stays; those without a pattern's id all do."""
        given: list[bytes] = []
        for one in advisories:
            given += (one.pattern_id.replace("\n", " ").encode(), _encode(one))
        if given:
            await self._redis.script(_ADD, _keys(principal, session_id), (repr(self._now()), *given))

    async def take(self, principal: Principal, session_id: str) -> list[Advisory]:
        """Return the session's advisories, the oldest first, and forget them in the same step; at most `MOST_KEPT`."""
        found = await self._redis.script(_TAKE, _keys(principal, session_id), (repr(self._now()),))
        taken = []
        for entry in found:
            try:
                taken.append(_decode(entry.partition(b"\n")[2]))
            except msgspec.MsgspecError:  # written by another version of Baton
                continue
        return taken


def _keys(principal: Principal, session_id: str) -> list[bytes]:
    tag = session_tag(principal, session_id)
    return [b"baton:advisories:" + tag, b"baton:advised:" + tag]
