"""Wakes waiting tasks on every server through Redis. Without Redis they poll SQL."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator

from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis
from baton.kernel.redis.listener import listen

POLL_S = 0.5  # polling interval without Redis, in seconds
NET_S = 5.0  # polling interval with Redis, in seconds: a server may crash between its commit and its message


class JobNotifier:
    """Notifies of topics, without content: `job <id>`, `session <user> <id>`, `runner <user>`, `team <team>`."""

    def __init__(self, redis: Redis, organisation: str) -> None:
        self._redis = redis
        self._channel = f"baton:jobs:{organisation}"
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self.listening = False  # whether other servers' notifications arrive

    @property
    def pause_s(self) -> float:
        """The polling interval of waiting tasks, in seconds."""
        return NET_S if self.listening else POLL_S

    def notify(self, *topics: str) -> None:
        """Wake the tasks that wait for these topics, on all servers."""
        # With Redis this server receives its own message too. A second wake-up would only cost a query.
        by_redis = self.listening and self._redis.up
        for topic in topics:
            self._redis.send(b"PUBLISH", self._channel, topic)
            if not by_redis:
                self._wake(topic)

    @contextlib.contextmanager
    def subscribe(self, *topics: str) -> Iterator[asyncio.Event]:
        """Yield an event, set at each notification of these topics."""
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
        """Process a message. An empty one marks the start of the subscription: earlier messages may be lost."""
        self.listening = True
        if message:
            self._wake(message.decode("utf-8", "replace"))
        else:
            self._wake_all()

    def _lose(self) -> None:
        self.listening = False
        self._wake_all()

    def _wake_all(self) -> None:
        for topic in list(self._waiting):
            self._wake(topic)

    def _wake(self, topic: str) -> None:
        for event in self._waiting.get(topic, ()):
            event.set()


async def wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event with a timeout. Clear it, and return whether it was set."""
    await pause(event, seconds)
    was_set = event.is_set()
    event.clear()
    return was_set
