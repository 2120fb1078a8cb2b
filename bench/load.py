"""A load of keep-alive connections on loopback, for a limited time. It measures, and only asserts the status."""

import asyncio
import time
from collections.abc import Iterator
from typing import cast

import msgspec


class Result(msgspec.Struct, frozen=True):
    """The measurements of one round. Times are in milliseconds, CPU in microseconds a request."""

    requests: int
    seconds: float
    cpu_us: float
    p50_ms: float
    p99_ms: float
    valkey_us: float = 0.0
    storing_us: float = 0.0

    @property
    def per_second(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


class _Connection(asyncio.Protocol):
    """One keep-alive connection: a request, its answer, the next request."""

    def __init__(
        self, head: bytes, bodies: Iterator[bytes], until: float, times: list[float], *, wait: bool = False
    ) -> None:
        """With `wait` it sends nothing by itself: see `ask`."""
        self._wait = wait
        self._head = head
        self._bodies = bodies
        self._until = until
        self._times = times
        self._sent = 0.0
        self._buffer = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if not self._wait:
            self._send(next(self._bodies))

    async def ask(self, body: bytes) -> None:
        """Post one body and wait for its answer."""
        self._answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._send(body)
        await self._answered

    def close(self) -> None:
        """End the connection."""
        self._transport.close()

    def _send(self, body: bytes) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._head + str(len(body)).encode() + b"\r\n\r\n" + body)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        assert head.startswith(b"HTTP/1.1 200"), head[:200]
        now = time.perf_counter()
        self._times.append(now - self._sent)
        self._buffer = b""
        if self._wait:
            self._answered.set_result(None)
        elif now < self._until:
            self._send(next(self._bodies))
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)


def _head(path: str, more: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{more}Content-Length: ".encode()
    )


async def run_anew(port: int, path: str, bodies: Iterator[bytes], *, connections: int, seconds: float) -> list[float]:
    """Like `run`, with a new connection for each call; the time of each answer starts with the connection."""
    head, until = _head(path, "Connection: close\r\n"), time.perf_counter() + seconds
    times: list[float] = []
    loop = asyncio.get_running_loop()

    async def one_by_one() -> None:
        while time.perf_counter() < until:
            _, protocol = await loop.create_connection(lambda: _Connection(head, bodies, 0.0, times), "127.0.0.1", port)
            await protocol.done

    await asyncio.gather(*(one_by_one() for _ in range(connections)))
    return times


async def run_paced(port: int, path: str, bodies: Iterator[bytes], *, per_second: int, seconds: float) -> list[float]:
    """Post at a fixed rate, independent of the answers; the time of each starts at its scheduled time."""
    head = _head(path)
    times: list[float] = []
    loop = asyncio.get_running_loop()
    free: list[_Connection] = []
    made: list[_Connection] = []

    async def post(due: float) -> None:
        if free:
            connection = free.pop()
        else:
            _, connection = await loop.create_connection(
                lambda: _Connection(head, iter(()), float("inf"), [], wait=True), "127.0.0.1", port
            )
            made.append(connection)
        await connection.ask(next(bodies))
        times.append(time.perf_counter() - due)
        free.append(connection)

    start, tasks = time.perf_counter(), []
    for number in range(int(per_second * seconds)):
        due = start + number / per_second
        if (left := due - time.perf_counter()) > 0:
            await asyncio.sleep(left)
        tasks.append(loop.create_task(post(due)))
    await asyncio.gather(*tasks)
    for connection in made:
        connection.close()
    return times


async def run(port: int, path: str, bodies: Iterator[bytes], *, connections: int, seconds: float) -> list[float]:
    """Post bodies over that many connections for that long; returns the time of each answer in seconds."""
    head = _head(path)
    times: list[float] = []
    until = time.perf_counter() + seconds
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: _Connection(head, bodies, until, times), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(protocol.done for _, protocol in made))
    return times


def summed(times: list[float], seconds: float, cpu_s: float) -> Result:
    """Sum up a round."""
    ordered = sorted(times)
    return Result(
        requests=len(ordered),
        seconds=seconds,
        cpu_us=cpu_s / len(ordered) * 1e6,
        p50_ms=ordered[len(ordered) // 2] * 1000,
        p99_ms=ordered[len(ordered) * 99 // 100] * 1000,
    )
