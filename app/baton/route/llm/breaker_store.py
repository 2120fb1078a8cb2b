"""A breaker's counts and state in Redis, for all workers; in this process while Redis is unavailable."""

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


class Snapshot(msgspec.Struct, frozen=True):
    """A breaker's state at a Unix time by Redis's clock; `local` if only this process knows it.

    `raw` is the state in Redis, byte for byte: a swap compares it.
    """

    now: float
    state: State
    buckets: list[Bucket]
    local: bool
    raw: bytes = b""


class BreakerStore:
    """One breaker's counts and state.

    While Redis is unavailable, it continues from this process's last read and clock. Afterwards Redis's counts apply
    again, and counts made meanwhile are dropped: they cover one process's calls only.
    """

    def __init__(self, redis: Redis, organisation: str, name: str, limits: Limits) -> None:
        self._redis = redis
        self._key = f"{{baton}}:breaker:{{{organisation}/{name}}}".encode("utf-8", "replace")
        self._limits = limits
        self.snapshot = Snapshot(0.0, State(), [], local=True)  # what was read last

    async def count(self, *, slow: bool, failed: bool) -> Snapshot:
        """Count a call, and read the state, in one trip to Redis."""
        try:
            self.snapshot = await self._trip(1, int(slow), int(failed))
        except RedisUnavailable:
            now = time.time()
            buckets = add(self.snapshot.buckets, now, slow=slow, failed=failed, limits=self._limits)
            self.snapshot = msgspec.structs.replace(self.snapshot, now=now, buckets=buckets, local=True)
        return self.snapshot

    async def read(self) -> Snapshot:
        """Read other processes' state."""
        try:
            self.snapshot = await self._trip(0, 0, 0)
        except RedisUnavailable:
            self.snapshot = msgspec.structs.replace(self.snapshot, now=time.time(), local=True)
        return self.snapshot

    async def swap(self, before: Snapshot, new: State) -> bool:
        """Replace the state read before. A change of phase empties the counts.

        Returns False, and stores nothing, if the stored state has changed.
        """
        raw = msgspec.json.encode(new)
        empty = new.phase != before.state.phase
        try:
            if not await self._redis.script(_SWAP, [self._key], [before.raw, raw, int(empty), _LIFE_S]):
                return False
            local = False
        except RedisUnavailable:
            if self.snapshot.state != before.state:
                return False
            # `raw` stays Redis's state, or the first swap after an outage would compare with a state Redis never had.
            local, raw = True, before.raw
        self.snapshot = Snapshot(before.now, new, [] if empty else self.snapshot.buckets, local, raw)
        return True

    async def forget(self) -> None:
        """Restart: closed, nothing counted."""
        self.snapshot = Snapshot(time.time(), State(), [], local=self.snapshot.local)
        with contextlib.suppress(RedisUnavailable):
            await self._redis.call(b"DEL", self._key)

    async def _trip(self, calls: int, slow: int, failed: int) -> Snapshot:
        limits = self._limits
        arguments = [calls, slow, failed, limits.window, bucket_calls(limits), BUCKET_S, _LIFE_S]
        now, raw, buckets = await self._redis.script(_COUNT, [self._key], arguments)
        try:
            state = _STATE.decode(raw) if raw else State()
            return Snapshot(float(now), state, _BUCKETS.decode(buckets), local=False, raw=raw)
        except msgspec.MsgspecError:  # written by another version of Baton: restart rather than fail
            return Snapshot(float(now), State(), [], local=False, raw=raw)
