"""One Redis connection that many callers share: replies in order, one write per loop tick."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import hiredis
from redis.asyncio.connection import AbstractConnection

from baton.kernel.redis.connection import RedisUnavailable, opened

Argument = bytes | str | int | float

MAX_WAITING = 10_000
"""Calls that may wait for their answers at once."""
LINGER_S = 0.002
"""How long a command that nobody waits for may wait for a write of others, in seconds."""


class RedisRefused(RedisUnavailable):
    """Redis answered with an error; the text is Redis's own."""


class Wire(asyncio.Protocol):
    """The multiplexed connection. A call that waits longer than `timeout_s` ends the whole connection.

    Replies come in the order of the calls, so whoever hangs holds up all that follow; there is nothing to save.
    """

    def __init__(
        self,
        connection: AbstractConnection,
        timeout_s: float,
        on_lost: Callable[[str], None],
        on_failed: Callable[[RedisUnavailable], None],
    ) -> None:
        """`on_failed` is told of each command that nobody waited for and that failed."""
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        # Taken over from redis-py once it has connected and authenticated; its writer must outlive our use.
        self._writer = cast("asyncio.StreamWriter", connection._writer)  # noqa: SLF001
        self._transport = cast("asyncio.Transport", self._writer.transport)
        self._timeout_s = timeout_s
        self._on_lost = on_lost
        self._on_failed = on_failed
        self._reader = hiredis.Reader(replyError=RedisRefused, notEnoughData=...)
        self._unsent: list[bytes] = []
        self._unsent_calls: list[asyncio.Future[Any] | None] = []
        self._waiting: deque[tuple[asyncio.Future[Any] | None, float]] = deque()
        """What was sent, None for a command that nobody waits for, and when."""
        self._flushes = self._lingers = False
        """Whether a write is due in this tick, and within `LINGER_S`."""
        self._watch: asyncio.Handle | None = None
        self._lost = False
        self._transport.set_protocol(self)

    def call(self, arguments: tuple[Argument, ...]) -> asyncio.Future[Any]:
        """Queue a command for this tick's write; the future gives its reply or raises `RedisUnavailable`."""
        packed = self._packed(arguments)
        future: asyncio.Future[Any] = self._loop.create_future()
        if not self._flushes:
            self._flushes = True
            self._loop.call_soon(self.flush)
        self._unsent.append(packed)
        self._unsent_calls.append(future)
        return future

    def post(self, arguments: tuple[Argument, ...]) -> None:
        """Queue a command that nobody waits for. It goes with the next write: one of its own would cost more than it.

        Commands are sent in the order of `call` and `post`.

        Raises:
            RedisUnavailable: If it cannot be queued.
        """
        packed = self._packed(arguments)
        if not (self._flushes or self._lingers):
            self._lingers = True
            self._loop.call_later(LINGER_S, self._end_lingering)
        self._unsent.append(packed)
        self._unsent_calls.append(None)

    def _packed(self, arguments: tuple[Argument, ...]) -> bytes:
        packed: bytes = hiredis.pack_command(arguments)  # type: ignore[arg-type] # its stub says: a tuple of one
        if self._lost or len(self._waiting) + len(self._unsent) >= MAX_WAITING:
            raise RedisUnavailable("the connection is lost" if self._lost else "too many calls wait for redis")
        return packed

    def drop(self, reason: str) -> None:
        """End the connection; every call that waits fails with the reason."""
        if self._lost:
            return
        self._lost = True
        if self._watch is not None:
            self._watch.cancel()
        self._transport.abort()
        self._connection._writer = self._connection._reader = None  # noqa: SLF001
        for future in [*(f for f, _ in self._waiting), *self._unsent_calls]:
            self._fail(future, RedisUnavailable(reason))
        self._waiting.clear()
        self._unsent.clear()
        self._unsent_calls.clear()
        self._on_lost(reason)

    def data_received(self, data: bytes) -> None:
        """Hand each complete reply to the call that has waited longest."""
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not ...:
                future, _ = self._waiting.popleft()
                if isinstance(reply, RedisRefused):
                    self._fail(future, reply)
                elif future is not None and not future.done():
                    future.set_result(reply)
        except (hiredis.ProtocolError, IndexError):
            self.drop("redis sent what is not an answer")

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what waits: the other side is gone."""
        self.drop(f"redis closed the connection: {exc}" if exc else "redis closed the connection")

    def _fail(self, future: asyncio.Future[Any] | None, error: RedisUnavailable) -> None:
        if future is None:
            self._on_failed(error)
        elif not future.done():
            future.set_exception(error)

    def _end_lingering(self) -> None:
        self._lingers = False
        self.flush()

    def flush(self) -> None:
        """Write what is queued."""
        self._flushes = False
        if self._lost or not self._unsent:
            return
        now = self._loop.time()
        self._transport.write(b"".join(self._unsent))
        self._waiting.extend((future, now) for future in self._unsent_calls)
        self._unsent.clear()
        self._unsent_calls.clear()
        if self._watch is None:
            self._watch = self._loop.call_at(now + self._timeout_s, self._check)

    def _check(self) -> None:
        """Look at the oldest call, and forgive it once: the delay may have been our own loop's."""
        self._watch = None
        if not self._waiting:
            return
        oldest = self._waiting[0]
        due = oldest[1] + self._timeout_s
        if self._loop.time() < due:
            self._watch = self._loop.call_at(due, self._check)
        else:
            # Two hops: a loop polls its sockets at least once in between.
            self._watch = self._loop.call_soon(self._loop.call_soon, self._condemn, oldest)

    def _condemn(self, oldest: tuple[asyncio.Future[Any] | None, float]) -> None:
        if self._lost:
            return
        if self._waiting and self._waiting[0] is oldest:
            self.drop(f"redis gave no answer within {self._timeout_s * 1000:.0f} ms")
        else:
            self._check()


async def connect(
    url: str, timeout_s: float, on_lost: Callable[[str], None], on_failed: Callable[[RedisUnavailable], None]
) -> Wire:
    """Open a connection and share it; `Wire` has what is told of it.

    Raises:
        RedisUnavailable: With what went wrong.
        ValueError: If the URL is not valid.
    """
    return Wire(await opened(url), timeout_s, on_lost, on_failed)
