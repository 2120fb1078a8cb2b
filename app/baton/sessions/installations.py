"""Detects changed hooks on a machine: compared with the installed ones, and with the session before.

The shim sends both checksums, but an agent able to change the shim can forge them. So the server also keeps each
machine's last checksums, out of the agent's reach.
"""

import logging

from baton.clients.event import HookEvent
from baton.kernel.redis.client import Redis, RedisUnavailable, digest
from baton.records.pipeline.recorder import Counters
from baton.shared.caller import Caller
from baton.shared.storable import storable

KEPT_S = 180 * 86_400
"""How long the checksums of a machine that is not heard of are kept, in seconds."""
PARTS = ("the shim", "its library", "the hook entries", "the switch for all hooks")
_ASK = "If you did not change them, run `baton hooks status`, look at what changed, and then `baton hooks install`."

log = logging.getLogger(__name__)


class Installations:
    """The last checksums of each machine, in Redis."""

    def __init__(self, redis: Redis, counters: Counters) -> None:
        self._redis = redis
        self._counters = counters

    async def changed(self, caller: Caller, event: HookEvent) -> str:
        """Return the warning to a starting session about changed hooks, "" if they are unchanged.

        A session with only its context cleared was already warned.
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
        """Store the machine's checksums. Return the previous ones, "" if unknown."""
        principal = caller.principal
        key = b"{baton}:installed:" + digest(
            principal.organisation, principal.user, principal.job, caller.machine, client
        )
        value = storable(f"{caller.digests}|{caller.manifest}")
        try:
            before = await self._redis.call(b"SET", key, value, b"EX", KEPT_S, b"GET")
        except RedisUnavailable:
            return ""
        return (before or b"").decode()


def _different(now: str, then: str) -> tuple[str, ...]:
    found, known = now.split(","), then.split(",")
    if len(found) != len(PARTS) or len(known) != len(PARTS):
        return () if now == then else ("all of them",)
    return tuple(part for part, one, other in zip(PARTS, found, known, strict=True) if one != other)
