"""Compliance in Redis: patterns cooling down in a session, and evaluations waiting for their result."""

from collections.abc import Sequence

import msgspec

from baton.kernel.redis.client import Redis, digest, session_tag
from baton.rules.call.call import Principal

COOL_DOWN_S = 1_800
"""Seconds before a session gets advice on a pattern again, or an external evaluation of it."""
WAIT_S = 3_600
"""Seconds during which the result of an external evaluation is accepted."""


class Evaluation(msgspec.Struct, frozen=True, array_like=True):
    """A requested external evaluation: the session's owner, and the patterns."""

    organisation: str
    team: str
    user: str
    job: str
    session_id: str
    pattern_ids: tuple[str, ...]

    @property
    def principal(self) -> Principal:
        """Return the session's owner, as in session keys."""
        return Principal(organisation=self.organisation, team=self.team, user=self.user, job=self.job)


class ComplianceStore:
    """All methods raise `RedisUnavailable`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def cooling(self, principal: Principal, session_id: str, pattern_ids: Sequence[str]) -> set[str]:
        """Return those of the patterns cooling down in a session."""
        if not pattern_ids:
            return set()
        found = await self._redis.pipeline([(b"EXISTS", _cooling(principal, session_id, one)) for one in pattern_ids])
        return {one for one, there in zip(pattern_ids, found, strict=True) if there}

    async def cool_down(self, principal: Principal, session_id: str, pattern_ids: Sequence[str]) -> list[str]:
        """Start the cool-down of patterns; return the newly started ones: of two servers one gets each."""
        if not pattern_ids:
            return []
        taken = await self._redis.pipeline(
            [(b"SET", _cooling(principal, session_id, one), b"1", b"NX", b"EX", COOL_DOWN_S) for one in pattern_ids]
        )
        return [one for one, done in zip(pattern_ids, taken, strict=True) if done is not None]

    async def expect(self, correlation_id: str, evaluation: Evaluation) -> None:
        """Store an evaluation until its result arrives."""
        await self._redis.call(b"SET", _evaluation(correlation_id), msgspec.msgpack.encode(evaluation), b"EX", WAIT_S)

    async def pop(self, correlation_id: str) -> Evaluation | None:
        """Return and delete a waiting evaluation in one step, or None: a result counts once."""
        found = await self._redis.call(b"GETDEL", _evaluation(correlation_id))
        try:
            return None if found is None else msgspec.msgpack.decode(found, type=Evaluation)
        except msgspec.MsgspecError:  # written by another version of Baton
            return None


def _cooling(principal: Principal, session_id: str, pattern_id: str) -> bytes:
    return b"{baton}:cooling:%b:%b" % (session_tag(principal, session_id), digest(pattern_id))


def _evaluation(correlation_id: str) -> bytes:
    return b"{baton}:evaluation:{%b}" % digest(correlation_id)
