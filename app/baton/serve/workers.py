"""Runs several worker processes on one socket: starts, restarts and replaces them."""

import asyncio
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from baton.kernel.base.child_keeper import Child, ChildKeeper, spawn
from baton.kernel.base.settings import Settings
from baton.kernel.http.serving.server import GRACE_S
from baton.kernel.redis.bundled_process import dies_with_parent
from baton.operate.backing import MENDABLE, backing
from baton.serve.worker import READY, WorkerOrder

# The folder of the workers' shared metrics, also used by `baton.operate.metrics`.

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # the variable read by prometheus-client at its import


def folder(home: Path) -> Path:
    """Return the metrics folder in a server's home."""
    return home / "metrics"


def prepare(home: Path) -> None:
    """Create an empty folder for this process's children, before the first of them starts."""
    path = folder(home).absolute()
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=0o700)
    os.environ[VARIABLE] = str(path)


def forget(home: Path, pid: int) -> None:
    """Delete the gauges of an ended worker. Its counters remain, so that sums do not fall."""
    for path in folder(home).glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)


log = logging.getLogger(__name__)

STOP_S = GRACE_S + 10.0  # timeout for a worker to exit, in seconds, in addition to `drain_s`
START_FAILED = 3  # the exit status of a failed start


class Worker:
    """One worker process and its successors."""

    def __init__(self, settings: Settings, order: WorkerOrder) -> None:
        self._settings = settings
        self._order = order
        self._ready = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self.keeper = ChildKeeper("a worker", self._spawn, on_end=lambda pid: forget(settings.home, pid))

    async def start(self) -> bool:
        """Start the process and wait until it is ready. Return False if it ended before or cannot start."""
        try:
            self.keeper.start()
        except OSError:
            log.exception("a worker cannot be started")
            return False
        assert self._reading is not None  # noqa: S101 - `_spawn` made it
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait([ready, self._reading], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        return self._ready.is_set()

    async def leave(self) -> None:
        """Let the process finish its requests, and end it."""
        if not await self.keeper.stop(within_s=self._settings.drain_s + STOP_S):
            log.warning("a worker did not exit in time; it was killed")

    def _spawn(self) -> Child:
        child = spawn(
            [sys.executable, "-P", "-m", "baton.serve.worker"],
            order=msgspec.json.encode(self._order) + b"\n",
            stdout=subprocess.PIPE,
            pass_fds=self._order.listeners,
            preexec_fn=dies_with_parent(),
        )
        self._ready.clear()
        self._reading = asyncio.create_task(self._read(child))
        return child

    async def _read(self, child: Child) -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, child.stdout)
        try:
            async for line in reader:
                if line == READY:
                    self._ready.set()
                else:
                    sys.stdout.buffer.write(line)
        finally:
            transport.close()


class Workers:
    """All workers of this machine. The supervisor owns the sockets, so a worker's end does not affect the others."""

    def __init__(self, settings: Settings, listeners: list[socket.socket], redis_url: str) -> None:
        self._settings = settings
        self._order = WorkerOrder(redis_url=redis_url, listeners=[one.fileno() for one in listeners])
        self._running: list[Worker] = []
        self._rolling = asyncio.Lock()

    async def start(self) -> int:
        """Start all workers and wait until they are ready. Return 0, or the exit status of a failed one."""
        self._running = [Worker(self._settings, self._order) for _ in range(self._settings.workers)]
        for worker, ready in zip(
            self._running, await asyncio.gather(*(worker.start() for worker in self._running)), strict=True
        ):
            if not ready:
                return await worker.keeper.wait() or 1
            worker.keeper.watch()
        return 0

    async def roll(self) -> None:
        """Replace the workers one by one. If a new one cannot start, the remaining old ones stay."""
        async with self._rolling:
            for place, old in enumerate(self._running):
                new = Worker(self._settings, self._order)
                try:
                    ready = await new.start()
                except asyncio.CancelledError:
                    await new.leave()
                    raise
                if not ready:
                    await new.leave()
                    log.error("a new worker cannot start; the old ones stay")
                    return
                new.keeper.watch()
                self._running[place] = new
                await old.leave()
            log.info("every worker was replaced")

    async def stop(self) -> None:
        """End all workers."""
        await asyncio.gather(*(worker.leave() for worker in self._running))


async def supervise(settings: Settings, listeners: list[socket.socket], on_ready: Callable[[], None]) -> int:
    """Run the workers until SIGTERM or Ctrl-C; SIGHUP replaces them one by one. Return the exit status."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    rolling: set[asyncio.Task[None]] = set()
    try:
        async with backing(settings) as redis_url:
            prepare(settings.home)
            workers = Workers(settings, listeners, redis_url)
            for sig in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(sig, stop.set)
            loop.add_signal_handler(signal.SIGHUP, lambda: rolling.add(loop.create_task(workers.roll())))
            try:
                status = await workers.start()
                if status == 0:
                    on_ready()
                    await stop.wait()
            finally:
                for task in rolling:
                    task.cancel()
                await workers.stop()
    except MENDABLE as error:
        log.error("Baton cannot start: %s", error)  # noqa: TRY400 - an operator can fix it: no stack
        return START_FAILED
    return status
