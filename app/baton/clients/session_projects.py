"""Which project an agent's session belongs to: that of its first event, whatever later ones name.

A client reads the project from `.git/config` at each call, which the agent may edit, and an agent may move into another
repository. The session stays in the project, with the rules and the mode, that it began in.
"""

from collections import OrderedDict
from pathlib import Path

import msgspec

from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, RedisUnavailable, Script
from baton.kernel.redis.session_keys import place_key, session_tag

REMEMBERED = 20_000
"""Number of sessions whose project a process remembers; Redis knows those of all processes."""


class SessionProject(msgspec.Struct, frozen=True):
    """The project and the root folder that a session is pinned to."""

    project: str
    root: str

    def settle(self, call: ToolCall) -> ToolCall:
        """Return a call of the session with this project. Another folder of the same project keeps its own root."""
        root = (call.project_root if call.project == self.project else "") or self.root
        if call.project == self.project and call.project_root == root:
            return call
        return msgspec.structs.replace(call, project=self.project, project_root=root)


class SessionProjects:
    """The pins: in memory for the path of a call, in Redis for all servers."""

    def __init__(self, redis: Redis, ttl_s: int) -> None:
        self._redis = redis
        self._ttl_s = ttl_s
        self._pin = Script.read(Path(__file__).with_name("pin.lua"))
        self._known: OrderedDict[bytes, SessionProject] = OrderedDict()

    def known(self, principal: Principal, session_id: str) -> SessionProject | None:
        """Return the pin of a session if this process knows it. A call without a session has none."""
        return self._known.get(session_tag(principal, session_id)) if session_id else None

    def keep(self, principal: Principal, session_id: str, pin: SessionProject) -> None:
        """Remember a pin that Redis holds."""
        if not session_id or not pin.project:
            return
        self._known[session_tag(principal, session_id)] = pin
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    async def find(self, principal: Principal, session_id: str) -> SessionProject | None:
        """Return the pin of a session, asking Redis if need be; None if it has none, or Redis is away."""
        pin = self.known(principal, session_id)
        if pin is not None or not session_id:
            return pin
        try:
            key = place_key(session_tag(principal, session_id))
            project, root = await self._redis.call(b"HMGET", key, "project", "root")
        except RedisUnavailable:
            return None
        if not project:
            return None
        pin = SessionProject(project.decode(), (root or b"").decode())
        self.keep(principal, session_id, pin)
        return pin

    async def pin(self, principal: Principal, session_id: str, wanted: SessionProject) -> SessionProject:
        """Pin a session unless it is pinned already, and return the pin.

        Raises:
            RedisUnavailable: If Redis is away; this process goes by the pin that it knows, or by `wanted`.
        """
        wanted = SessionProject(storable(wanted.project), storable(wanted.root))
        self.keep(principal, session_id, self.known(principal, session_id) or wanted)
        if not session_id or not wanted.project:
            return wanted
        key = place_key(session_tag(principal, session_id))
        arguments = (wanted.project, wanted.root, self._ttl_s)
        project, root = await self._redis.script(self._pin, [key], arguments)
        pin = SessionProject(project.decode(), root.decode())
        self.keep(principal, session_id, pin)
        return pin
