"""Several worker processes on one socket: started, started again when they end, replaced one by one. It answers nobody."""

import asyncio
import contextlib
import logging
import signal
import socket
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable
from typing import cast

import msgspec

from baton.kernel.base.logs import ended
from baton.kernel.base.settings import Settings
from baton.kernel.http.server import GRACE_S
from baton.operate.backing import MENDABLE, backing
from baton.serve import worker_metrics
from baton.serve.worker import READY, Order

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
"""Pauses between restarts double from the one to the other, in seconds; a worker that ran a minute starts anew at the shortest."""
STOP_S = GRACE_S + 10.0
"""Longest wait for a worker to have left, in seconds, besides the time it goes on serving."""
START_FAILED = 3
"""The status of a server that cannot start."""
_SETTLED_S = 60.0


class Worker:
    """One worker process."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.started_at = time.monotonic()
        self.leaving = False
        self.ready = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for line in cast("asyncio.StreamReader", self.process.stdout):
            if line == READY:
                self.ready.set()
            else:
                sys.stdout.buffer.write(line)

    async def became_ready(self) -> bool:
        """Wait until it takes calls; False when it ended before."""
        ready, ended = asyncio.create_task(self.ready.wait()), asyncio.create_task(self.process.wait())
        await asyncio.wait([ready, ended], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        return self.ready.is_set()

    async def leave(self, within_s: float) -> None:
        """Have it answer what it has begun, and end it."""
        self.leaving = True
        for how in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(how)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await self.process.wait()
                    return
            log.warning("worker %d does not leave; it is killed", self.process.pid)


class Workers:
    """All workers of this machine. A worker's end costs the others nothing: the socket is the supervisor's."""

    def __init__(self, settings: Settings, listener: socket.socket, redis_url: str) -> None:
        self._settings = settings
        self._listener = listener
        self._order = msgspec.json.encode(Order(redis_url=redis_url, listener=listener.fileno())) + b"\n"
        self._running: set[Worker] = set()
        self._tending: set[asyncio.Task[None]] = set()
        self._rolling = asyncio.Lock()

    async def start(self) -> int:
        """Start all and wait until they take calls; gives the status of one that cannot start, else 0."""
        workers = [await self._start(FIRST_PAUSE_S) for _ in range(self._settings.workers)]
        for worker in workers:
            if not await worker.became_ready():
                return await worker.process.wait() or 1
        return 0

    async def roll(self) -> None:
        """Put a new worker in the place of each, one after the other; the old ones stay when a new one cannot start."""
        async with self._rolling:
            for old in list(self._running):
                new = await self._start(FIRST_PAUSE_S, tend=False)
                if not await new.became_ready():
                    log.error("a new worker cannot start; the old ones stay")
                    return
                self._tend(new, FIRST_PAUSE_S)
                await old.leave(self._settings.drain_s + STOP_S)
            log.info("every worker is a new one")

    async def stop(self) -> None:
        """Have all of them leave."""
        for task in self._tending:
            task.cancel()
        await asyncio.gather(*(worker.leave(self._settings.drain_s + STOP_S) for worker in self._running))

    async def _start(self, pause: float, *, tend: bool = True) -> Worker:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "baton.serve.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(self._listener.fileno(),),
            start_new_session=True,
        )
        cast("asyncio.StreamWriter", process.stdin).write(self._order)
        worker = Worker(process)
        self._running.add(worker)
        if tend:
            self._tend(worker, pause)
        return worker

    def _tend(self, worker: Worker, pause: float) -> None:
        task = asyncio.create_task(self._replace(worker, pause))
        self._tending.add(task)
        task.add_done_callback(self._tending.discard)

    async def _replace(self, worker: Worker, pause: float) -> None:
        """Wait for a worker's end, and start another in its place unless it was told to leave."""
        status = await worker.process.wait()
        self._running.discard(worker)
        worker_metrics.forget(self._settings.home, worker.process.pid)
        if worker.leaving:
            return
        if time.monotonic() - worker.started_at > _SETTLED_S:
            pause = FIRST_PAUSE_S
        log.error("worker %d %s; starting another", worker.process.pid, ended(status))
        await asyncio.sleep(pause)
        await self._start(min(pause * 2, LONGEST_PAUSE_S))


async def supervise(settings: Settings, listener: socket.socket, on_ready: Callable[[], None]) -> int:
    """Run the workers, and what stands behind them, until SIGTERM or Ctrl-C; SIGHUP replaces them one by one.

    Gives the exit status.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    rolling: set[asyncio.Task[None]] = set()
    try:
        async with backing(settings) as redis_url:
            worker_metrics.prepare(settings.home)
            workers = Workers(settings, listener, redis_url)
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
        print(f"Baton cannot start: {error}", file=sys.stderr)
        return START_FAILED
    return status
