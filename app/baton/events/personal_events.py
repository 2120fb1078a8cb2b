"""The events of one person that Redis still holds: read for their export, removed with their data."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from baton.events.feed import FEED
from baton.events.redis_streams.bus import counts_of, stream_of
from baton.events.topics import TOPICS, Topic
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, Script

_FORGET = Script.read(Path(__file__).with_name("forget.lua"))
_PAGE = 500
"""Entries of a stream that are looked at in one trip."""
_Found = tuple[bytes, bytes]
"""An entry's id and its event."""


class _Owned(msgspec.Struct):
    user: str


_event = msgspec.json.Decoder(_Owned).decode
_decision = msgspec.msgpack.Decoder(_Owned).decode


class PersonalEvents:
    """Looks through every topic; all methods raise `RedisUnavailable`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def check(self) -> None:
        """Check that Redis answers."""
        await self._redis.call(b"PING")

    async def find(self, user: str, *, restricted: bool) -> AsyncIterator[bytes]:
        """Yield the events of a user as JSON, by topic, the oldest first; those of restricted topics only if asked."""
        for topic in TOPICS:
            if restricted or not topic.restricted:
                async for page in self._pages(topic, user):
                    for _, event in page:
                        yield event

    async def remove(self, user: str) -> int:
        """Remove the events of a user from every topic and from the live feed; return how many the topics held.

        Consumers count them as missed.
        """
        gone = 0
        for topic in TOPICS:
            async for page in self._pages(topic, user):
                arguments: list[bytes | int] = []
                for name, event in page:
                    arguments += [name, len(event)]
                gone += await self._redis.script(_FORGET, [stream_of(topic.name), counts_of(topic.name)], arguments)
        await self._remove_from_feed(user)
        return gone

    async def _remove_from_feed(self, user: str) -> None:
        start = b"-"
        while raw := await self._redis.call(b"XRANGE", FEED, start, b"+", b"COUNT", _PAGE):
            theirs = [name for name, fields in raw if _user_of(fields) == user]
            if theirs:
                await self._redis.call(b"XDEL", FEED, *theirs)
            start = b"(" + raw[-1][0]

    async def _pages(self, topic: Topic, user: str) -> AsyncIterator[Sequence[_Found]]:
        whose, start = storable(user).encode(), b"-"
        while True:
            raw = await self._redis.call(b"XRANGE", stream_of(topic.name), start, b"+", b"COUNT", _PAGE)
            # An entry is `n`, `user`, `team` and `event`, each followed by its value.
            found = [(name, fields[7]) for name, fields in raw if fields[3] == whose]
            if found:
                yield found
            if len(raw) < _PAGE:
                return
            start = b"(" + raw[-1][0]


def _user_of(fields: Sequence[bytes]) -> str:
    """Return whose an entry of the feed is, "" where another version of Baton wrote it."""
    with contextlib.suppress(msgspec.MsgspecError):
        return (_event if fields[0] == b"e" else _decision)(fields[1]).user
    return ""
