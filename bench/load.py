"""A load of keep-alive connections on loopback that ends by itself. It measures; it asserts nothing but the status."""

import asyncio
import time
from collections.abc import Iterator
from typing import cast

import msgspec


class Result(msgspec.Struct, frozen=True):
    """What one round measured. Times are in milliseconds, CPU in microseconds a request."""

    requests: int
    seconds: float
    cpu_us: float
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


class _Connection(asyncio.Protocol):
    """One keep-alive connection: a request, its answer, the next request."""

    def __init__(self, head: bytes, bodies: Iterator[bytes], until: float, times: list[float]) -> None:
        self._head = head
        self._bodies = bodies
        self._until = until
        self._times = times
        self._sent = 0.0
        self._buffer = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._next()

    def _next(self) -> None:
        body = next(self._bodies)
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
        if now < self._until:
            self._next()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)


async def run(port: int, path: str, bodies: Iterator[bytes], *, connections: int, seconds: float) -> list[float]:
    """Post bodies over that many connections for that long; gives the time of each answer in seconds."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ".encode()
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
