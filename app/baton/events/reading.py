"""Reads the bus for consumers: by a cursor of their own, or in a group whose members share the work."""

import asyncio
import re
from difflib import get_close_matches

import msgspec

from baton.engine.call.principal import Principal
from baton.events.redis_streams import bus
from baton.events.topics import BY_NAME, TOPICS, Topic
from baton.kernel.base.errors import Conflict, Invalid, NotFound, StoreUnavailable
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, RedisRefused, RedisUnavailable
from baton.people.permissions import Reach, require

PAGE = 200
"""Entries of a stream that are looked at in one trip."""
MOST_PAGES = 20
"""Trips of one request: a developer's own events may be far apart among everybody's."""
LOOK_S = 0.25
"""How often a waiting request looks for new events, in seconds."""
TIMEOUT_S = 5.0
"""Longest wait for Redis, in seconds; decisions have another connection."""
REDELIVER_MS = 60_000
"""How long a member of a group may take to acknowledge an event before another one gets it, in milliseconds."""
MOST_GROUPS = 100
"""Groups of one topic."""
_CURSOR = re.compile(r"(\d{1,20}-\d{1,20})\.(\d{1,20})")
_ID = re.compile(r"\d{1,20}-\d{1,20}")
_GROUP = b"api:"
_AWAY = "events cannot be read now, because Redis is away; try again"


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events as JSON, oldest first, and where to go on. `missed` had left the bus before they were read."""

    events: list[msgspec.Raw]
    cursor: str
    missed: int = 0


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """Events that a group's member has to acknowledge by their `receipts`, in the same order."""

    events: list[msgspec.Raw]
    receipts: list[str]
    missed: int = 0


class _Found(msgspec.Struct, frozen=True):
    id: bytes
    number: int
    user: bytes
    team: bytes
    event: bytes


class EventReader:
    """Serves consumers, each only what their permission reaches."""

    def __init__(self, redis_url: str) -> None:
        self._redis = Redis(redis_url, timeout_s=TIMEOUT_S)

    async def start(self) -> None:
        """Connect. Redis may be away."""
        await self._redis.start()

    async def stop(self) -> None:
        """Disconnect."""
        await self._redis.close()

    def topics(self, principal: Principal) -> list[Topic]:
        """Return all topics.

        Raises:
            Forbidden: If the role may not read events at all.
        """
        require(principal, "events.read")
        return list(TOPICS)

    async def read(self, principal: Principal, name: str, *, cursor: str, limit: int, wait_s: float = 0) -> EventPage:
        """Return the events behind a cursor, waiting up to `wait_s` for the first one.

        Without a cursor it begins with the oldest event; `newest` begins with what is published from now on.

        Raises:
            Forbidden: If the role may not read the topic.
            Invalid: If the topic is unknown, or the cursor is not one of ours.
            StoreUnavailable: If Redis is away.
        """
        topic, reach = _admitted(principal, name)
        until = asyncio.get_running_loop().time() + wait_s
        try:
            start, number = await self._position(topic, cursor)
            while True:
                page = await self._page(principal, topic, reach, start, number, limit)
                left = until - asyncio.get_running_loop().time()
                if page.events or page.missed or left <= 0:
                    return page
                start, number = _parsed(page.cursor)
                await asyncio.sleep(min(LOOK_S, left))
        except RedisUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def take(
        self, principal: Principal, name: str, group: str, *, member: str, limit: int, wait_s: float = 0
    ) -> Delivery:
        """Return events to a member of a group, first those that another member has not acknowledged for a minute.

        The first member creates the group, which begins with the oldest event. A group is its user's own.

        Raises:
            Conflict: If the topic has too many groups.
            Forbidden: If the role may not read the topic.
            Invalid: If the topic is unknown.
            StoreUnavailable: If Redis is away.
        """
        topic, reach = _admitted(principal, name)
        stream, key = bus.stream_of(topic.name), _group_key(principal, group)
        until = asyncio.get_running_loop().time() + wait_s
        try:
            while True:
                delivery = await self._delivery(principal, topic, reach, stream, key, member, limit)
                left = until - asyncio.get_running_loop().time()
                if delivery.events or delivery.missed or left <= 0:
                    return delivery
                await asyncio.sleep(min(LOOK_S, left))
        except RedisUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def acknowledge(self, principal: Principal, name: str, group: str, receipts: list[str]) -> int:
        """Acknowledge events; return how many of them waited for it.

        Raises:
            Forbidden: If the role may not read the topic.
            Invalid: If the topic is unknown, or a receipt is none.
            StoreUnavailable: If Redis is away.
        """
        topic, _ = _admitted(principal, name)
        for number, receipt in enumerate(receipts):
            if not _ID.fullmatch(receipt):
                raise Invalid(f"receipts.{number}", "is not a receipt; take those of the delivery")
        try:
            done: int = await self._redis.call(
                b"XACK", bus.stream_of(topic.name), _group_key(principal, group), *(one.encode() for one in receipts)
            )
        except RedisUnavailable:
            raise StoreUnavailable(_AWAY) from None
        return done

    async def end_group(self, principal: Principal, name: str, group: str) -> None:
        """Remove a group and what it has not acknowledged.

        Raises:
            Forbidden: If the role may not read the topic.
            NotFound: If there is no such group.
            StoreUnavailable: If Redis is away.
        """
        topic, _ = _admitted(principal, name)
        key = _group_key(principal, group)
        try:
            gone, _ = await self._redis.pipeline(
                [
                    (b"XGROUP", b"DESTROY", bus.stream_of(topic.name), key),
                    (b"HDEL", bus.counts_of(topic.name), b"read:" + key),
                ]
            )
        except RedisRefused:  # there is no stream, so there are no groups
            gone = 0
        except RedisUnavailable:
            raise StoreUnavailable(_AWAY) from None
        if not gone:
            raise NotFound(f"topic `{topic.name}` has no group `{group}` of yours")

    async def _position(self, topic: Topic, cursor: str) -> tuple[str, int]:
        if cursor in ("", "oldest"):
            return "0-0", 0
        if cursor == "newest":
            last = await self._redis.call(b"XREVRANGE", bus.stream_of(topic.name), b"+", b"-", b"COUNT", 1)
            found = _found(last[0]) if last else None
            return ("0-0", 0) if found is None else (found.id.decode(), found.number)
        return _parsed(cursor)

    async def _page(
        self, principal: Principal, topic: Topic, reach: Reach, start: str, number: int, limit: int
    ) -> EventPage:
        events: list[msgspec.Raw] = []
        missed = 0
        for _ in range(MOST_PAGES):
            raw = await self._redis.call(
                b"XRANGE", bus.stream_of(topic.name), b"(" + start.encode(), b"+", b"COUNT", PAGE
            )
            for one in map(_found, raw):
                # A Redis that lost its data counts from 1 again: what was missed then cannot be told.
                missed += max(0, one.number - number - 1) if number else 0
                start, number = one.id.decode(), one.number
                if _covers(principal, reach, one):
                    events.append(msgspec.Raw(one.event))
                    if len(events) == limit:
                        break
            if len(events) == limit or len(raw) < PAGE:
                break
        return EventPage(events=events, cursor=f"{start}.{number}", missed=missed)

    async def _delivery(
        self, principal: Principal, topic: Topic, reach: Reach, stream: bytes, key: bytes, member: str, limit: int
    ) -> Delivery:
        try:
            again = await self._redis.call(b"XAUTOCLAIM", stream, key, member, REDELIVER_MS, b"0-0", b"COUNT", limit)
            raw = [one for one in again[1] if one and one[1]]
            fresh: list[_Found] = []
            if not raw:
                reply = await self._redis.call(
                    b"XREADGROUP", b"GROUP", key, member, b"COUNT", limit, b"STREAMS", stream, b">"
                )
                raw = reply[0][1] if reply else []
                fresh = [_found(one) for one in raw if one[1]]
        except RedisRefused as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await self._create_group(topic, stream, key)
            return Delivery(events=[], receipts=[])
        found = [_found(one) for one in raw if one[1]]
        mine = [one for one in found if _covers(principal, reach, one)]
        others = [one.id for one in found if not _covers(principal, reach, one)]
        if others:
            await self._redis.call(b"XACK", stream, key, *others)
        return Delivery(
            events=[msgspec.Raw(one.event) for one in mine],
            receipts=[one.id.decode() for one in mine],
            missed=await self._missed(topic, key, fresh) if fresh else 0,
        )

    async def _missed(self, topic: Topic, key: bytes, fresh: list[_Found]) -> int:
        """Return how many events left the bus between the last one that the group was given and these."""
        counts, field = bus.counts_of(topic.name), b"read:" + key
        last, _ = await self._redis.pipeline([(b"HGET", counts, field), (b"HSET", counts, field, fresh[-1].number)])
        return max(0, fresh[0].number - int(last) - 1) if last else 0

    async def _create_group(self, topic: Topic, stream: bytes, key: bytes) -> None:
        try:
            groups = await self._redis.call(b"XINFO", b"GROUPS", stream)
        except RedisRefused:  # there is no stream yet
            groups = []
        if len(groups) >= MOST_GROUPS:
            raise Conflict(f"topic `{topic.name}` has {MOST_GROUPS} groups; remove one that nobody reads")
        try:
            await self._redis.call(b"XGROUP", b"CREATE", stream, key, b"0", b"MKSTREAM")
        except RedisRefused as error:
            if not str(error).startswith("BUSYGROUP"):
                raise


def topic_named(name: str) -> Topic:
    """Return a topic by its short name.

    Raises:
        Invalid: If there is none; the error names the nearest.
    """
    topic = BY_NAME.get(name)
    if topic is None:
        near = get_close_matches(name, BY_NAME, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise Invalid("topic", f"is `{name}`, which is no topic{hint}", list(BY_NAME))
    return topic


def _admitted(principal: Principal, name: str) -> tuple[Topic, Reach]:
    # First the role: who may not read events at all learns no names from the error.
    reach = require(principal, "events.read")
    topic = topic_named(name)
    return topic, require(principal, "events.restricted") if topic.restricted else reach


def _covers(principal: Principal, reach: Reach, one: _Found) -> bool:
    if reach == "organisation":
        return True
    own = one.user == storable(principal.user).encode()
    return own or (reach == "team" and principal.team != "" and one.team == storable(principal.team).encode())


def _group_key(principal: Principal, group: str) -> bytes:
    # With the user's name: nobody reads on in a group that was filled for somebody with other rights.
    return _GROUP + f"{len(principal.user)}:{principal.user}:{group}".encode("utf-8", "replace")


def _parsed(cursor: str) -> tuple[str, int]:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Invalid("cursor", "is not a cursor; take that of the page before, or `oldest`, or `newest`")
    return found[1], int(found[2])


def _found(raw: list[bytes | list[bytes]]) -> _Found:
    flat = raw[1]
    return _Found(raw[0], int(flat[1]), flat[3], flat[5], flat[7])  # type: ignore[arg-type]
