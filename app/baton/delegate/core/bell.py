"""Wakes whoever waits for jobs, on every server: told by Redis, and without it twice a second. It carries no news."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator

from baton.kernel.redis.client import Redis
from baton.kernel.redis.listener import listen

POLL_S = 0.5
"""How often who waits looks by themselves while nothing is told, in seconds."""
NET_S = 5.0
"""How often they look while everything is told: a server may die between a commit and its message. In seconds."""


class Bell:
    """Topics that one waits for: `job <id>`, `session <user> <id>`, `runner <user>`, `team <team>`."""

    def __init__(self, redis: Redis, organisation: str) -> None:
        self._redis = redis
        self._channel = f"baton:jobs:{organisation}"
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._listening = False

    @property
    def listening(self) -> bool:
        """Whether other servers are heard now."""
        return self._listening

    @property
    def pause_s(self) -> float:
        """How long one may wait before one looks again, in seconds."""
        return NET_S if self._listening else POLL_S

    def ring(self, *topics: str) -> None:
        """Wake who waits for these topics, here and on other servers."""
        by_redis = self._listening and self._redis.up
        for topic in topics:
            self._redis.send(b"PUBLISH", self._channel, topic)
            if not by_redis:
                self._wake(topic)

    @contextlib.contextmanager
    def heard(self, *topics: str) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever one of these topics rings."""
        event = asyncio.Event()
        for topic in topics:
            self._waiting[topic].add(event)
        try:
            yield event
        finally:
            for topic in topics:
                self._waiting[topic].discard(event)
                if not self._waiting[topic]:
                    del self._waiting[topic]

    async def run(self, stop: asyncio.Event) -> None:
        """Listen until told to stop."""
        listening = asyncio.create_task(listen(self._redis.url, self._channel, self._told, self._lost))
        try:
            await stop.wait()
        finally:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listening

    def _told(self, message: bytes) -> None:
        self._listening = True
        if message:
            self._wake(message.decode("utf-8", "replace"))
        else:
            self._wake_all()

    def _lost(self) -> None:
        self._listening = False
        self._wake_all()

    def _wake_all(self) -> None:
        for topic in list(self._waiting):
            self._wake(topic)

    def _wake(self, topic: str) -> None:
        for event in self._waiting.get(topic, ()):
            event.set()


async def wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait until a topic rang, at most so long; tell whether it did, and be ready for the next time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    rang = event.is_set()
    event.clear()
    return rang
