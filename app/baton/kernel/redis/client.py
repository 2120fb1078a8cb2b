"""The way to Redis: a breaker and a background reconnect over one shared connection."""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from baton.kernel.redis.connection import RedisUnavailable
from baton.kernel.redis.wire import Argument, RedisRefused, Wire, connect
from baton.shared.backoff import Backoff

__all__ = ["Redis", "RedisRefused", "RedisUnavailable", "Script"]

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0
"""Pauses between attempts to connect double from the one to the other, in seconds, with jitter."""


class Script(msgspec.Struct, frozen=True):
    """A Lua script by its text and its SHA-1, which is how Redis names it."""

    source: bytes
    sha: bytes

    @classmethod
    def read(cls, path: Path, *, after: "Script | None" = None, **constants: float) -> "Script":
        """Read a script from its file; each of `constants` becomes a local variable ahead of its first line.

        `after` is a script of functions that stands ahead of it.
        """
        head = "".join(f"local {constant} = {value}\n" for constant, value in constants.items())
        source = (b"" if after is None else after.source) + head.encode() + path.read_bytes()
        return cls(source, hashlib.sha1(source, usedforsecurity=False).hexdigest().encode())


class Redis:
    """Fails at once while Redis is down, and answers or fails within `timeout_s` while it is up.

    A call that blocks in Redis would hold up all others: give such calls a `Redis` of their own.
    """

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._wire: Wire | None = None
        self._reason = "not connected yet"
        self._connecting: asyncio.Task[None] | None = None
        self._connected_at = 0.0
        self._backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._closed = False
        self._away = False
        self._sent: set[asyncio.Future[Any]] = set()
        self.errors = 0
        """Calls and connections that failed so far."""
        self.connections = 0
        """Connections made so far."""

    @property
    def url(self) -> str:
        """Where it is, for a connection that must be one's own."""
        return self._url

    @property
    def up(self) -> bool:
        """Return whether a call made now would be sent."""
        return self._wire is not None

    async def start(self) -> None:
        """Try to connect once; when that fails, go on trying in the background."""
        if not await self._attempt():
            log.warning("redis cannot be reached, trying on: %s", self._reason)
            self._away = True
            self._reconnect()

    async def close(self) -> None:
        """End the connection and the attempts to make one."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._connecting
        if self._wire is not None:
            self._wire.flush()
            self._wire.drop("the server is stopping")
            await asyncio.sleep(0)  # the transport closes its socket in the next tick

    async def call(self, *arguments: Argument) -> Any:
        """Send one command and give its reply, as bytes, int, list or None.

        Raises:
            RedisUnavailable: Redis is down, or gave no answer in time.
            RedisRefused: Redis answered with an error.
        """
        try:
            return await self._enqueue(arguments)
        except RedisUnavailable as error:
            self._count(error)
            raise

    async def pipeline(self, commands: list[tuple[Argument, ...]]) -> list[Any]:
        """Send commands in one write and give their replies; the first failure is raised."""
        futures: list[asyncio.Future[Any]] = []
        try:
            futures.extend(self._enqueue(command) for command in commands)
        except RedisUnavailable as error:
            for future in futures:
                future.cancel()
            self._count(error)
            raise
        replies = await asyncio.gather(*futures, return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException):
                self._count(reply)
                raise reply
        return replies

    async def script(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Argument]) -> Any:
        """Run a script by its SHA-1, or by its text where Redis does not have it yet."""
        try:
            return await self._enqueue((b"EVALSHA", script.sha, len(keys), *keys, *arguments))
        except RedisUnavailable as error:
            if not (isinstance(error, RedisRefused) and str(error).startswith("NOSCRIPT")):
                self._count(error)
                raise
        return await self.call(b"EVAL", script.source, len(keys), *keys, *arguments)

    def submit(self, *arguments: Argument) -> asyncio.Future[Any]:
        """Queue one command for this tick's write; its reply may be awaited, or not: a failure is counted once.

        Raises:
            RedisUnavailable: Redis is down.
        """
        try:
            future = self._enqueue(arguments)
        except RedisUnavailable as error:
            self._count(error)
            raise
        self._sent.add(future)
        future.add_done_callback(self._settle)
        return future

    def send(self, *arguments: Argument) -> None:
        """Send a command within two milliseconds, ahead of later ones, and do not wait; a failure is counted, never raised."""
        if self._wire is None:
            self.errors += 1
            return
        try:
            self._wire.post(arguments)
        except RedisUnavailable as error:
            self._count(error)

    def _enqueue(self, arguments: tuple[Argument, ...]) -> asyncio.Future[Any]:
        if self._wire is None:
            raise RedisUnavailable(self._reason)
        return self._wire.call(arguments)

    def _settle(self, future: asyncio.Future[Any]) -> None:
        self._sent.discard(future)
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self._count(error)

    def _count(self, error: BaseException) -> None:
        self.errors += 1
        # A master that became a replica: a fresh connection finds the new one.
        if isinstance(error, RedisRefused) and str(error).startswith("READONLY") and self._wire is not None:
            self._wire.drop(str(error))

    def _on_lost(self, reason: str) -> None:
        self._wire = None
        self._reason = reason
        if not self._closed:
            log.warning("redis is away: %s", reason)
            self._away = True
            self._reconnect()

    def _reconnect(self) -> None:
        loop = asyncio.get_running_loop()
        # A connection that breaks soon after it was made is likely to break again: its pauses go on growing.
        held = loop.time() - self._connected_at > LONGEST_PAUSE_S
        if held:
            self._backoff.reset()
        self._connecting = loop.create_task(self._connect_again(at_once=held))

    async def _connect_again(self, *, at_once: bool) -> None:
        """Try until it works."""
        if at_once and await self._attempt():
            return
        while True:
            await asyncio.sleep(self._backoff.next_s())
            if await self._attempt():
                return

    async def _attempt(self) -> bool:
        try:
            wire = await connect(self._url, self._timeout_s, self._on_lost, self._count)
        except RedisUnavailable as error:
            self._reason = str(error)
            self.errors += 1
            return False
        self._wire = wire
        self._connected_at = asyncio.get_running_loop().time()
        self.connections += 1
        if self._away:
            log.info("redis is back")
            self._away = False
        return True
