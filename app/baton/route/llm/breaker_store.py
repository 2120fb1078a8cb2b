"""A breaker's counts and state in Redis, for all workers; in this process while Redis is away. It does not judge them.

A call is counted, and all that is known comes back, in one trip.
"""

import contextlib
import time
from pathlib import Path

import msgspec

from baton.kernel.redis.client import Redis, RedisUnavailable, Script
from baton.route.llm.breaker_rules import BUCKET_S, Bucket, Limits, State, add, bucket_calls

_COUNT = Script.read(Path(__file__).with_name("breaker.lua"))
_SWAP = Script.read(Path(__file__).with_name("breaker_swap.lua"))
_LIFE_S = 86_400
_BUCKETS = msgspec.json.Decoder(list[Bucket], strict=False)
_STATE = msgspec.json.Decoder(State)


class Kept(msgspec.Struct, frozen=True):
    """What is known of a breaker at a moment (seconds since 1970, Redis's clock); `local` when only this process knows.

    `raw` is the state as it stands in Redis.
    """

    now: float
    state: State
    buckets: list[Bucket]
    local: bool
    raw: bytes = b""


class BreakerStore:
    """One breaker. While Redis is away it goes on from what this process saw last; what Redis holds counts again after."""

    def __init__(self, redis: Redis, organisation: str, name: str, limits: Limits) -> None:
        self._redis = redis
        self._key = f"baton:breaker:{{{organisation}/{name}}}".encode("utf-8", "replace")
        self._limits = limits
        self.kept = Kept(0.0, State(), [], local=True)
        """What was seen last."""

    async def count(self, *, slow: bool, failed: bool) -> Kept:
        """Count a call."""
        try:
            self.kept = await self._trip(1, int(slow), int(failed))
        except RedisUnavailable:
            now = time.time()
            buckets = add(self.kept.buckets, now, slow=slow, failed=failed, limits=self._limits)
            self.kept = msgspec.structs.replace(self.kept, now=now, buckets=buckets, local=True)
        return self.kept

    async def look(self) -> Kept:
        """See what other processes know by now."""
        try:
            self.kept = await self._trip(0, 0, 0)
        except RedisUnavailable:
            self.kept = msgspec.structs.replace(self.kept, now=time.time(), local=True)
        return self.kept

    async def swap(self, seen: Kept, new: State) -> bool:
        """Store a state in place of the one that was seen, with empty counts if its phase is another; False if it changed."""
        raw = msgspec.json.encode(new)
        empty = new.phase != seen.state.phase
        try:
            if not await self._redis.script(_SWAP, [self._key], [seen.raw, raw, int(empty), _LIFE_S]):
                return False
            local = False
        except RedisUnavailable:
            if self.kept.state != seen.state:
                return False
            local, raw = True, seen.raw
        self.kept = Kept(seen.now, new, [] if empty else self.kept.buckets, local, raw)
        return True

    async def forget(self) -> None:
        """Start anew: closed, nothing counted."""
        self.kept = Kept(time.time(), State(), [], local=self.kept.local)
        with contextlib.suppress(RedisUnavailable):
            await self._redis.call(b"DEL", self._key)

    async def _trip(self, calls: int, slow: int, failed: int) -> Kept:
        limits = self._limits
        arguments = [calls, slow, failed, limits.window, bucket_calls(limits), BUCKET_S, _LIFE_S]
        now, raw, buckets = await self._redis.script(_COUNT, [self._key], arguments)
        try:
            state = _STATE.decode(raw) if raw else State()
            return Kept(float(now), state, _BUCKETS.decode(buckets), local=False, raw=raw)
        except msgspec.MsgspecError:  # another version's
            return Kept(float(now), State(), [], local=False, raw=raw)
