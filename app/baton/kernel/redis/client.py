"""Redis client: a circuit breaker and a background reconnect over one shared connection."""

import asyncio
import contextlib
import hashlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import hiredis
import msgspec
from redis.asyncio.connection import AbstractConnection

from baton.kernel.redis.connection import RedisUnavailable, opened
from baton.rules.call.call import Principal
from baton.shared.backoff import Backoff

# One multiplexed connection: replies in order, one write per loop tick.

Argument = bytes | str | int | float

MAX_WAITING = 10_000  # maximum number of pending calls
LINGER_S = 0.002  # maximum delay of fire-and-forget commands, in seconds. They share a write with others.


class RedisRefused(RedisUnavailable):
    """Redis answered with an error. The message is Redis's own."""


class Wire(asyncio.Protocol):
    """The multiplexed connection. One call beyond `timeout_s` blocks all later ones, and ends the connection."""

    def __init__(
        self,
        connection: AbstractConnection,
        timeout_s: float,
        on_lost: Callable[[str], None],
        on_failed: Callable[[RedisUnavailable], None],
    ) -> None:
        """Call `on_failed` for each failed fire-and-forget command."""
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        # Taken over from redis-py after connecting and authenticating. Its writer must outlive our use.
        self._writer = cast("asyncio.StreamWriter", connection._writer)  # noqa: SLF001
        self._transport = cast("asyncio.Transport", self._writer.transport)
        self._timeout_s = timeout_s
        self._on_lost = on_lost
        self._on_failed = on_failed
        self._reader = hiredis.Reader(replyError=RedisRefused, notEnoughData=...)
        self._unsent: list[bytes] = []
        self._unsent_calls: list[asyncio.Future[Any] | None] = []
        self._waiting: deque[tuple[asyncio.Future[Any] | None, float]] = deque()
        """Sent commands (None: fire-and-forget), each with its send time."""
        self._flushes = self._lingers = False  # whether a write is due in this tick, and within `LINGER_S`
        self._watch: asyncio.Handle | None = None
        self._lost = False
        self._transport.set_protocol(self)

    def call(self, arguments: tuple[Argument, ...]) -> asyncio.Future[Any]:
        """Queue a command for this tick's write. The future returns the reply or raises `RedisUnavailable`."""
        packed = self._packed(arguments)
        future: asyncio.Future[Any] = self._loop.create_future()
        if not self._flushes:
            self._flushes = True
            self._loop.call_soon(self.flush)
        self._unsent.append(packed)
        self._unsent_calls.append(future)
        return future

    def post(self, arguments: tuple[Argument, ...]) -> None:
        """Queue a fire-and-forget command for the next write, in the order of calls. Raise RedisUnavailable."""
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
        """End the connection. Fail all pending calls with the reason."""
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
        """Pass each complete reply to the oldest pending call."""
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not ...:
                future, _ = self._waiting.popleft()
                if isinstance(reply, RedisRefused):
                    self._fail(future, reply)
                elif future is not None and not future.done():
                    future.set_result(reply)
        except (hiredis.ProtocolError, IndexError):
            self.drop("redis sent an invalid answer")

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all pending calls."""
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
        """Write the queued commands."""
        self._flushes = False
        if self._lost or not self._unsent:
            return
        now = self._loop.time()
        self._transport.write(b"".join(self._unsent))
        self._waiting.extend([(future, now) for future in self._unsent_calls])
        self._unsent.clear()
        self._unsent_calls.clear()
        if self._watch is None:
            self._watch = self._loop.call_at(now + self._timeout_s, self._check)

    def _check(self) -> None:
        """Check the oldest call, with one retry: the delay may have been our own loop's."""
        self._watch = None
        if not self._waiting:
            return
        oldest = self._waiting[0]
        due = oldest[1] + self._timeout_s
        if self._loop.time() < due:
            self._watch = self._loop.call_at(due, self._check)
        else:
            # Two hops: the loop polls its sockets at least once in between.
            self._watch = self._loop.call_soon(self._loop.call_soon, self._condemn, oldest)

    def _condemn(self, oldest: tuple[asyncio.Future[Any] | None, float]) -> None:
        if self._lost:
            return
        if self._waiting and self._waiting[0] is oldest:
            self.drop(f"redis gave no answer within {self._timeout_s * 1000:.0f} ms")
        else:
            self._check()


__all__ = ["Redis", "RedisRefused", "RedisUnavailable", "Script"]

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0  # minimum and maximum pause between connection attempts, in seconds. Pauses double, with jitter.

_NOT_MASTER = ("READONLY", "MOVED", "ASK", "CLUSTERDOWN")  # it is a replica now, or its slot is elsewhere


class Script(msgspec.Struct, frozen=True):
    """A Lua script and its SHA-1, its name in Redis."""

    source: bytes
    sha: bytes

    @classmethod
    def make(cls, source: bytes) -> "Script":
        """Make a script of its source."""
        return cls(source, hashlib.sha1(source, usedforsecurity=False).hexdigest().encode())

    @classmethod
    def read(cls, path: Path, **constants: float) -> "Script":
        """Read a script. `constants` become local variables ahead of its first line."""
        head = "".join(f"local {constant} = {value}\n" for constant, value in constants.items())
        return cls.make(head.encode() + path.read_bytes())


_PROBE = Script.make(b"redis.call('SET', KEYS[1], '1', 'EX', 60)\nreturn redis.call('TIME')")


class Redis:
    """Fails at once while Redis is down, else within `timeout_s`. Use a separate `Redis` for blocking commands."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self.url = url
        self._timeout_s = timeout_s
        self._wire: Wire | None = None
        self.reason = "not connected yet"  # why it is not up
        self._connecting: asyncio.Task[None] | None = None
        self._connected_at = 0.0
        self._backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._closed = False
        self._sent: set[asyncio.Future[Any]] = set()
        self.errors = 0  # number of failed calls and connections
        self.connections = 0  # number of connections made

    @property
    def up(self) -> bool:
        """Return whether a call would be sent now."""
        return self._wire is not None

    async def start(self) -> None:
        """Try to connect once. On failure, keep trying in the background."""
        if not await self._attempt():
            self._reconnect()

    async def close(self) -> None:
        """Close the connection and stop reconnecting."""
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
        """Send a command and return its reply: bytes, int, list or None. Raise RedisUnavailable or RedisRefused."""
        try:
            return await self._enqueue(arguments)
        except RedisUnavailable as error:
            self._count(error)
            raise

    async def pipeline(self, commands: list[tuple[Argument, ...]]) -> list[Any]:
        """Send commands in one write and return their replies. Raise the first failure."""
        futures: list[asyncio.Future[Any]] = []
        try:
            futures.extend(self._enqueue(command) for command in commands)
        except RedisUnavailable as error:
            for future in futures:
                future.cancel()
            self._count(error)
            raise
        try:
            if futures:
                await asyncio.wait(futures[-1:])  # replies come in order: when the last one is there, all are
        finally:  # changes nothing for those that are there
            for future in futures:
                future.cancel()
        failed = next(filter(None, [future.exception() for future in futures]), None)
        if failed is not None:
            self._count(failed)
            raise failed
        return [future.result() for future in futures]

    async def script(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Argument]) -> Any:
        """Run a script by its SHA-1, or by its source if Redis does not have it yet."""
        try:
            return await self._enqueue((b"EVALSHA", script.sha, len(keys), *keys, *arguments))
        except RedisUnavailable as error:
            if not (isinstance(error, RedisRefused) and str(error).startswith("NOSCRIPT")):
                self._count(error)
                raise
        return await self.call(b"EVAL", script.source, len(keys), *keys, *arguments)

    async def probe(self) -> float:
        """Write by a script, and return Redis's time. Raise RedisUnavailable if it takes no writes or no scripts."""
        seconds, microseconds = await self.script(_PROBE, [b"{baton}:probe"], ())
        return int(seconds) + int(microseconds) / 1e6

    def submit(self, *arguments: Argument) -> asyncio.Future[Any]:
        """Queue a command for this tick's write. Failures are counted even if unawaited. Raise RedisUnavailable."""
        try:
            future = self._enqueue(arguments)
        except RedisUnavailable as error:
            self._count(error)
            raise
        self._sent.add(future)
        future.add_done_callback(self._settle)
        return future

    def send(self, *arguments: Argument) -> None:
        """Send a fire-and-forget command within two milliseconds, before later ones. Failures are only counted."""
        if self._wire is None:
            self.errors += 1
            return
        try:
            self._wire.post(arguments)
        except RedisUnavailable as error:
            self._count(error)

    def _enqueue(self, arguments: tuple[Argument, ...]) -> asyncio.Future[Any]:
        if self._wire is None:
            raise RedisUnavailable(self.reason)
        return self._wire.call(arguments)

    def _settle(self, future: asyncio.Future[Any]) -> None:
        self._sent.discard(future)
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self._count(error)

    def _count(self, error: BaseException) -> None:
        self.errors += 1
        # A new connection finds the new master.
        if isinstance(error, RedisRefused) and str(error).startswith(_NOT_MASTER) and self._wire is not None:
            self._wire.drop(str(error))

    def _on_lost(self, reason: str) -> None:
        self._wire = None
        self.reason = reason
        if not self._closed:
            log.debug("redis is unavailable: %s", reason)  # `operate/health.py` reports outages
            self._reconnect()

    def _reconnect(self) -> None:
        loop = asyncio.get_running_loop()
        # A connection that breaks soon after it was made probably breaks again: do not reset its pauses.
        held = loop.time() - self._connected_at > LONGEST_PAUSE_S
        if held:
            self._backoff.reset()
        self._connecting = loop.create_task(self._connect_again(at_once=held))

    async def _connect_again(self, *, at_once: bool) -> None:
        if at_once and await self._attempt():
            return
        while True:
            await asyncio.sleep(self._backoff.next_s())
            if await self._attempt():
                return

    async def _attempt(self) -> bool:
        try:
            wire = Wire(await opened(self.url), self._timeout_s, self._on_lost, self._count)
        except RedisUnavailable as error:
            self.reason = str(error)
            self.errors += 1
            return False
        self._wire = wire
        self._connected_at = asyncio.get_running_loop().time()
        self.connections += 1
        return True


# Redis keys of an agent's session.


def digest(*parts: str) -> bytes:
    """Return a name of 32 hexadecimal digits for arbitrary parts."""
    # The lengths distinguish ("ab", "c") from ("a", "bc").
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return blake2b(text.encode(), digest_size=16).hexdigest().encode()


def session_tag(principal: Principal, session_id: str) -> bytes:
    """Return a session's name in keys.

    Delegated agents' sessions have separate names: their tokens must not write into their owner's other sessions.
    """
    user = f"{principal.user} {principal.job}" if principal.job else principal.user
    return _tag(principal.organisation, user, session_id)


def place_key(tag: bytes) -> bytes:
    """Return the key of a session's project and root."""
    return b"{baton}:place:" + tag


@lru_cache(maxsize=4_096)
def _tag(organisation: str, user: str, session_id: str) -> bytes:
    return b"{%b}" % digest(organisation, user, session_id)
