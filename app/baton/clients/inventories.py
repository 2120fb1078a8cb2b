"""The inventories of people's clients: in Redis by what the shim's checksum names, and which session has which.

An inventory is its person's own: every key carries organisation and user. What is stored is what was read, masked.
"""

import asyncio
import time
from collections import OrderedDict

import msgspec

from baton.clients.inventory import Inventory, read
from baton.engine.call.agent_model import OwnAgent
from baton.engine.call.principal import Principal
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.session_keys import digest, place_key, session_tag

KEPT_S = 30 * 86_400
"""How long an inventory is kept that no session starts with, in seconds."""
MOST = 200
"""Inventories, and projects with one, of one user; beyond that all of them are sent anew."""
REMEMBERED = 2_000
"""Inventories, and sessions with theirs, that a process remembers."""
PATIENCE_S = 0.5
"""Longest that a session's first prompt waits for its agents, in seconds; the hook waits for 14."""
_PAUSE_S = 0.03
_STARTS_AT_ONCE = "copilot-cli"
DEGRADED = "agents"
"""How an answer's `degraded` names an inventory that a session has and that cannot be read."""
PROVIDER = "claude-code"
"""The client whose agents a request means that comes from none."""


class InventoryView(msgspec.Struct, frozen=True, kw_only=True):
    """The agents that a person's client had when a session last started in a project."""

    client: str
    project: str
    inventory: Inventory


class Inventories:
    """Stores inventories, and finds the one of a session."""

    def __init__(self, redis: Redis, ttl_s: int) -> None:
        self._redis = redis
        self._ttl_s = ttl_s
        self._known: OrderedDict[bytes, Inventory] = OrderedDict()
        self._sessions: OrderedDict[bytes, str] = OrderedDict()
        self._awaited: OrderedDict[bytes, None] = OrderedDict()
        """Sessions whose prompt has waited, or did not need to."""

    async def begin(self, principal: Principal, session_id: str, client: str, project: str, checksum: str) -> bool:
        """Note what a starting session has; return whether the server must be sent it.

        Raises:
            RedisUnavailable: If Redis is away; this process goes by what it knows.
        """
        tag = session_tag(principal, session_id)
        self.learn(principal, session_id, checksum)
        place, latest = place_key(tag), _latest_key(principal)
        field = _field(client, project)
        if not checksum:
            await self._redis.pipeline([(b"HDEL", place, b"agents"), (b"HDEL", latest, field)])
            return False
        *_, size, known = await self._redis.pipeline(
            [
                (b"HSET", place, b"agents", checksum),
                (b"EXPIRE", place, self._ttl_s),
                (b"HSET", latest, field, checksum),
                (b"EXPIRE", latest, KEPT_S),
                (b"HLEN", latest),
                (b"EXPIRE", _content_key(principal, checksum), KEPT_S),
            ]
        )
        if size > MOST:
            await self._redis.call(b"DEL", latest)
        return not known

    def learn(self, principal: Principal, session_id: str, checksum: str) -> None:
        """Remember which inventory a session has, as Redis holds it; "" for none."""
        if not session_id:
            return
        tag = session_tag(principal, session_id)
        if self._sessions.get(tag) == checksum:
            return
        self._sessions[tag] = checksum
        if len(self._sessions) > REMEMBERED:
            self._sessions.popitem(last=False)

    async def put(self, principal: Principal, client: str, checksum: str, text: str) -> Inventory:
        """Keep an inventory and return it; one that is known under its checksum stays as it is.

        Raises:
            Invalid: If the text has another form than a shim's.
            RedisUnavailable: If Redis is away; nothing was kept.
        """
        inventory = read(client, text)
        key, index = _content_key(principal, checksum), _index_key(principal)
        value = msgspec.json.encode(inventory.agents)
        replies = await self._redis.pipeline(
            [
                (b"SET", key, value, b"NX", b"EX", KEPT_S),
                (b"SADD", index, key),
                (b"EXPIRE", index, KEPT_S),
                (b"SCARD", index),
            ]
        )
        if replies[-1] > MOST:
            await self.forget(principal)
        return inventory

    async def of_session(
        self, principal: Principal, session_id: str, client: str, project: str
    ) -> tuple[Inventory | None, bool]:
        """Return the inventory of a session, without one that of the client's latest session in the project.

        Returns:
            The inventory, None if there is none; and whether there is one that cannot be read.
        """
        try:
            checksum = await self._checksum(principal, session_id, client, project)
        except RedisUnavailable:
            tag = session_tag(principal, session_id)
            if not session_id or tag not in self._sessions:
                return None, True
            checksum = self._sessions[tag]
        return await self._find(principal, checksum)

    async def for_prompt(
        self, principal: Principal, session_id: str, client: str, project: str
    ) -> tuple[Inventory | None, bool]:
        """Return what `of_session` does, but wait for a shim that is about to tell: once a session, `PATIENCE_S`.

        A person's first prompt may come right behind the session's start, and Copilot CLI runs both hooks at once.
        """
        tag = session_tag(principal, session_id)
        until = time.monotonic() + (0.0 if tag in self._awaited else PATIENCE_S)
        while True:
            found, missing = await self.of_session(principal, session_id, client, project)
            starting = client == _STARTS_AT_ONCE and found is None and tag not in self._sessions
            if not (missing or starting) or time.monotonic() >= until or not self._redis.up:
                break
            await asyncio.sleep(_PAUSE_S)
        self._awaited[tag] = None
        if len(self._awaited) > REMEMBERED:
            self._awaited.popitem(last=False)
        return found, missing

    def knows(self, principal: Principal, session_id: str) -> bool:
        """Return whether this process knows what a session has, be it nothing."""
        return session_tag(principal, session_id) in self._sessions

    async def for_call(self, principal: Principal, session_id: str) -> tuple[Inventory | None, bool]:
        """Return the inventory of a session that this process has learned of, as `of_session` does."""
        return await self._find(principal, self._sessions.get(session_tag(principal, session_id), ""))

    async def of_user(self, principal: Principal) -> list[InventoryView]:
        """List a person's inventories. Raise RedisUnavailable."""
        flat = await self._redis.call(b"HGETALL", _latest_key(principal))
        views = []
        for field, checksum in zip(flat[::2], flat[1::2], strict=True):
            client, _, project = field.decode().partition("\n")
            inventory, _ = await self._find(principal, checksum.decode())
            if inventory is not None:
                views.append(InventoryView(client=client, project=project, inventory=inventory))
        return sorted(views, key=lambda one: (one.project, one.client))

    async def forget(self, principal: Principal) -> None:
        """Forget all inventories of a user. Raise RedisUnavailable."""
        keys = await self._redis.call(b"SMEMBERS", _index_key(principal))
        await self._redis.call(b"DEL", _index_key(principal), _latest_key(principal), *keys)
        for key in keys:
            self._known.pop(key, None)

    async def _checksum(self, principal: Principal, session_id: str, client: str, project: str) -> str:
        place = place_key(session_tag(principal, session_id))
        if session_id:
            started, found = await self._redis.call(b"HMGET", place, b"project", b"agents")
            if started or found:
                self.learn(principal, session_id, (found or b"").decode())
                return (found or b"").decode()
        client = client if client and client != "api" else PROVIDER
        return (await self._redis.call(b"HGET", _latest_key(principal), _field(client, project)) or b"").decode()

    async def _find(self, principal: Principal, checksum: str) -> tuple[Inventory | None, bool]:
        if not checksum:
            return None, False
        key = _content_key(principal, checksum)
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known, False
        try:
            value = await self._redis.call(b"GET", key)
        except RedisUnavailable:
            return None, True
        if value is None:
            return None, True
        self._known[key] = inventory = Inventory(msgspec.json.decode(value, type=list[OwnAgent]))
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return inventory, False


def _user_tag(principal: Principal) -> bytes:
    return b"{%b}" % digest("inventories", principal.organisation, principal.user)


def _content_key(principal: Principal, checksum: str) -> bytes:
    return b"baton:agents:%b:%b" % (_user_tag(principal), digest(checksum))


def _latest_key(principal: Principal) -> bytes:
    return b"baton:agents-latest:" + _user_tag(principal)


def _index_key(principal: Principal) -> bytes:
    return b"baton:agents-index:" + _user_tag(principal)


def _field(client: str, project: str) -> str:
    return storable(f"{client}\n{project}")
