"""Wakes tasks that wait for news of jobs, on every server, by Redis. Without Redis they look in SQL twice a second."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator

from baton.kernel.redis.client import Redis
from baton.kernel.redis.listener import listen

POLL_S = 0.5
"""How often a waiting task looks in SQL while Redis is away, in seconds."""
NET_S = 5.0
"""How often it looks while Redis is there: a server may die between its commit and its message. In seconds."""


class JobNotifier:
    """Notifies of topics: `job <id>`, `session <user> <id>`, `runner <user>`, `team <team>`.

    A notification carries no news: whoever is woken reads the database.
    """

    def __init__(self, redis: Redis, organisation: str) -> None:
        self._redis = redis
        self._channel = f"baton:jobs:{organisation}"
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._listening = False

    @property
    def listening(self) -> bool:
        """Whether other servers can be heard now."""
        return self._listening

    @property
    def pause_s(self) -> float:
        """How long a task may wait before it looks again, in seconds."""
        return NET_S if self._listening else POLL_S

    def notify(self, *topics: str) -> None:
        """Wake the tasks that wait for these topics, here and on other servers."""
        # With Redis this server hears its own message like any other; waking twice would only cost a query.
        by_redis = self._listening and self._redis.up
        for topic in topics:
            self._redis.send(b"PUBLISH", self._channel, topic)
            if not by_redis:
                self._wake(topic)

    @contextlib.contextmanager
    def subscribe(self, *topics: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set at each notification of one of these topics."""
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
        """Listen to Redis until `stop` is set."""
        listening = asyncio.create_task(listen(self._redis.url, self._channel, self._receive, self._lose))
        try:
            await stop.wait()
        finally:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listening

    def _receive(self, message: bytes) -> None:
        """Take a message; an empty one says that the subscription has begun, before which anything may have happened."""
        self._listening = True
        if message:
            self._wake(message.decode("utf-8", "replace"))
        else:
            self._wake_all()

    def _lose(self) -> None:
        self._listening = False
        self._wake_all()

    def _wake_all(self) -> None:
        for topic in list(self._waiting):
            self._wake(topic)

    def _wake(self, topic: str) -> None:
        for event in self._waiting.get(topic, ()):
            event.set()


async def wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at most so many seconds; clear it, and return whether it was set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    was_set = event.is_set()
    event.clear()
    return was_set
