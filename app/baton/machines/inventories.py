"""The inventories of people's clients in Redis, by the shim's checksum, and the inventory of each session.

An inventory is private: every key has organisation and user. Only parsed, masked data is stored.
"""

import asyncio
import time
from collections import OrderedDict

import msgspec

from baton.clients.registry import words_of
from baton.kernel.redis.client import Redis, RedisUnavailable, digest, place_key, session_tag
from baton.machines.inventory import Inventory, read
from baton.rules.call.call import OwnAgent, Principal
from baton.shared.storable import storable

KEPT_S = 30 * 86_400  # expiry of an unused inventory, in seconds
MOST = 200  # maximum number of a user's inventories and projects. Beyond it, all of them are sent again.
REMEMBERED = 2_000  # maximum number of cached inventories and sessions per process
PATIENCE_S = 0.5  # timeout of a session's first prompt for its agents, in seconds. The hook's own is 14.
_PAUSE_S = 0.03
DEGRADED = "agents"  # the entry in an answer's `degraded` for an unreadable inventory
PROVIDER = "claude-code"  # the default client of requests without one


class InventoryView(msgspec.Struct, frozen=True, kw_only=True):
    """The agents of a person's client at the latest session start in a project."""

    client: str
    project: str
    inventory: Inventory

    @property
    def agents(self) -> tuple[OwnAgent, ...]:
        """The agents as described by their files."""
        return self.inventory.agents


class Inventories:
    """Stores inventories, and finds a session's."""

    def __init__(self, redis: Redis, ttl_s: int) -> None:
        self._redis = redis
        self._ttl_s = ttl_s
        self._known: OrderedDict[bytes, Inventory] = OrderedDict()
        self._sessions: OrderedDict[bytes, str] = OrderedDict()
        self._awaited: OrderedDict[bytes, None] = OrderedDict()  # sessions with a finished wait of their first prompt

    async def begin(self, principal: Principal, session_id: str, client: str, project: str, checksum: str) -> bool:
        """Store a starting session's inventory. Return whether its content is needed. Raise RedisUnavailable."""
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
        """Remember a session's inventory as in Redis; "" for none."""
        if not session_id:
            return
        tag = session_tag(principal, session_id)
        if self._sessions.get(tag) == checksum:
            return
        self._sessions[tag] = checksum
        if len(self._sessions) > REMEMBERED:
            self._sessions.popitem(last=False)

    async def put(self, principal: Principal, client: str, checksum: str, text: str) -> Inventory:
        """Store an inventory under its checksum unless known, and return it. Raise Invalid or RedisUnavailable."""
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
        """Return a session's or the project's latest inventory or None, and whether it is unreadable."""
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
        """Return `of_session`, but wait up to `PATIENCE_S` for a reporting shim, once per session.

        The first prompt may directly follow the session start, and some clients run both hooks at once.
        """
        tag = session_tag(principal, session_id)
        until = time.monotonic() + (0.0 if tag in self._awaited else PATIENCE_S)
        while True:
            found, missing = await self.of_session(principal, session_id, client, project)
            starting = words_of(client).starts_at_once and found is None and tag not in self._sessions
            if not (missing or starting) or time.monotonic() >= until or not self._redis.up:
                break
            await asyncio.sleep(_PAUSE_S)
        self._awaited[tag] = None
        if len(self._awaited) > REMEMBERED:
            self._awaited.popitem(last=False)
        return found, missing

    def knows(self, principal: Principal, session_id: str) -> bool:
        """Return whether this process knows a session's inventory or its absence."""
        return session_tag(principal, session_id) in self._sessions

    async def for_call(self, principal: Principal, session_id: str) -> tuple[Inventory | None, bool]:
        """Return the inventory of a session known to this process, like `of_session`."""
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
        """Delete all inventories of a user. Raise RedisUnavailable."""
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
    return b"{baton}:agents:%b:%b" % (_user_tag(principal), digest(checksum))


def _latest_key(principal: Principal) -> bytes:
    return b"{baton}:agents-latest:" + _user_tag(principal)


def _index_key(principal: Principal) -> bytes:
    return b"{baton}:agents-index:" + _user_tag(principal)


def _field(client: str, project: str) -> str:
    return storable(f"{client}\n{project}")
