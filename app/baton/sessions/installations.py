"""Whether the hooks of a machine are those that were installed, and those of the session before.

The shim sends both checksums; an agent that can change the shim can make it send what it likes. So the server also keeps
what each machine sent last, which no file of that machine holds.
"""

import logging

from baton.clients.event import HookEvent
from baton.kernel.base.caller import Caller
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.session_keys import digest
from baton.records.pipeline.counters import Counters

KEPT_S = 180 * 86_400
"""How long the checksums of a machine that is not heard of are kept, in seconds."""
PARTS = ("the shim", "its library", "the hook entries", "the switch for all hooks")
_ASK = "If you did not change them, run `baton hooks status`, look at what changed, and then `baton hooks install`."

log = logging.getLogger(__name__)


class Installations:
    """The checksums that each machine sent last, in Redis."""

    def __init__(self, redis: Redis, counters: Counters) -> None:
        self._redis = redis
        self._counters = counters

    async def changed(self, caller: Caller, event: HookEvent) -> str:
        """Return what to tell the person of a starting session about its hooks, "" if they are as they were.

        A session that only lost its context has been told already.
        """
        if not caller.digests or event.source in {"clear", "compact"}:
            return ""
        before = await self._swap(caller, event.client)
        parts = _different(caller.digests, caller.manifest) if caller.manifest else ()
        notice = ""
        if parts:
            notice = f"Baton's hooks on this machine are not as they were installed: {', '.join(parts)}. {_ASK}"
        elif before:
            digests, _, manifest = before.partition("|")
            parts = _different(caller.digests, digests) or (
                ("what was written down",) if manifest and not caller.manifest else ()
            )
            if parts:
                notice = (
                    f"Baton's hooks on this machine have changed since the last session: {', '.join(parts)}. {_ASK}"
                )
        if notice:
            self._counters.hooks_changed()
            log.warning(
                "the hooks of `%s` on `%s` have changed: %s", caller.principal.user, caller.machine, ", ".join(parts)
            )
        return notice

    async def _swap(self, caller: Caller, client: str) -> str:
        """Keep what the machine sent, and return what it had sent before, "" if that is not known."""
        principal = caller.principal
        key = b"baton:installed:" + digest(
            principal.organisation, principal.user, principal.job, caller.machine, client
        )
        value = storable(f"{caller.digests}|{caller.manifest}")
        try:
            before = await self._redis.call(b"SET", key, value, b"EX", KEPT_S, b"GET")
        except RedisUnavailable:
            return ""
        return (before or b"").decode()


def _different(now: str, then: str) -> tuple[str, ...]:
    """Return which parts have another checksum."""
    found, known = now.split(","), then.split(",")
    if len(found) != len(PARTS) or len(known) != len(PARTS):
        return () if now == then else ("all of them",)
    return tuple(part for part, one, other in zip(PARTS, found, known, strict=True) if one != other)
