"""What Redis holds of compliance: patterns that cool down in a session, and evaluations that wait for their result."""

from collections.abc import Sequence

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.redis.client import Redis
from baton.kernel.redis.session_keys import digest, session_tag

COOL_DOWN_S = 1_800
"""Seconds for which a session is not told of a pattern again, nor is it evaluated elsewhere again. Seed 004."""
WAIT_S = 3_600
"""Seconds for which the result of an external evaluation is taken."""


class Evaluation(msgspec.Struct, frozen=True, array_like=True):
    """An evaluation that an external evaluator was asked for: whose session, and which patterns."""

    organisation: str
    team: str
    user: str
    job: str
    session_id: str
    pattern_ids: tuple[str, ...]

    @property
    def principal(self) -> Principal:
        """Return whose session it is, as session keys name it."""
        return Principal(organisation=self.organisation, team=self.team, user=self.user, job=self.job)


class ComplianceStore:
    """All methods raise `RedisUnavailable`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def cooling(self, principal: Principal, session_id: str, pattern_ids: Sequence[str]) -> set[str]:
        """Return those of the patterns that cool down in a session."""
        if not pattern_ids:
            return set()
        found = await self._redis.pipeline([(b"EXISTS", _cooling(principal, session_id, one)) for one in pattern_ids])
        return {one for one, there in zip(pattern_ids, found, strict=True) if there}

    async def cool_down(self, principal: Principal, session_id: str, pattern_ids: Sequence[str]) -> list[str]:
        """Let patterns cool down; return those that did not already: of two servers one gets each."""
        if not pattern_ids:
            return []
        taken = await self._redis.pipeline(
            [(b"SET", _cooling(principal, session_id, one), b"1", b"NX", b"EX", COOL_DOWN_S) for one in pattern_ids]
        )
        return [one for one, done in zip(pattern_ids, taken, strict=True) if done is not None]

    async def expect(self, correlation_id: str, evaluation: Evaluation) -> None:
        """Keep an evaluation until its result comes."""
        await self._redis.call(b"SET", _evaluation(correlation_id), msgspec.msgpack.encode(evaluation), b"EX", WAIT_S)

    async def take(self, correlation_id: str) -> Evaluation | None:
        """Return an evaluation that waits and forget it in one step, None if none does: a result counts once."""
        found = await self._redis.call(b"GETDEL", _evaluation(correlation_id))
        try:
            return None if found is None else msgspec.msgpack.decode(found, type=Evaluation)
        except msgspec.MsgspecError:  # written by another version of Baton
            return None


def _cooling(principal: Principal, session_id: str, pattern_id: str) -> bytes:
    return b"baton:cooling:%b:%b" % (session_tag(principal, session_id), digest(pattern_id))


def _evaluation(correlation_id: str) -> bytes:
    return b"baton:evaluation:{%b}" % digest(correlation_id)
