"""The HTTP server: uvicorn with our protocol and an orderly shutdown."""

import asyncio
import contextlib
import resource
import signal
import socket
import time
from types import FrameType

import uvicorn

from baton.kernel.base.pause import tick
from baton.kernel.base.settings import Settings
from baton.kernel.http.serving.hot_routes import HotFastAPI
from baton.kernel.http.serving.protocol import Protocol

TICK_S = 1.0  # how often the `Date` header is renewed, in seconds
GRACE_S = 10  # seconds for requests in flight to finish on shutdown

MOST_CONNECTIONS = 10_000  # maximum number of open connections per process. New ones replace idle ones.
_OTHER_FILES = 128  # file descriptors reserved for the database, Redis, policies and logs


class _Server(uvicorn.Server):
    """Keeps serving after SIGTERM with `/readyz` off, so that a load balancer switches first."""

    def __init__(self, config: uvicorn.Config, app: HotFastAPI, drain_s: float) -> None:
        super().__init__(config)
        self._app = app
        self._drain_s = drain_s
        self._leave_at: float | None = None
        self._told = asyncio.Event()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start draining on SIGTERM. Stop at once on Ctrl-C or a second signal."""
        self._told.set()
        if self.started:  # streams and polls then end by themselves
            self._app.lifecycle.phase = "draining"
        if sig != signal.SIGTERM or not self._drain_s or not self.started or self._leave_at is not None:
            super().handle_exit(sig, frame)
            return
        self._captured_signals.append(sig)
        self._leave_at = time.monotonic() + self._drain_s

    async def main_loop(self) -> None:
        """Tick once a second, uvicorn ten times, and at each signal."""
        while not await self.on_tick(0):
            await tick(TICK_S, self._told)
            self._told.clear()

    async def on_tick(self, counter: int) -> bool:
        """Stop at the end of draining."""
        return await super().on_tick(counter) or (self._leave_at is not None and time.monotonic() >= self._leave_at)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop. A second Ctrl-C skips the wait for requests in flight, but not the cleanup."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


def connection_limit() -> int:
    """Raise the limit on open files as far as allowed. Return the resulting number of connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with contextlib.suppress(ValueError, OSError):  # macOS has a lower limit than the one it reports
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    room = wanted if soft == resource.RLIM_INFINITY else soft
    return max(_OTHER_FILES, min(MOST_CONNECTIONS, room - _OTHER_FILES))


def run(settings: Settings, app: HotFastAPI, listeners: list[socket.socket]) -> bool:
    """Serve until stopped. Return whether the server ever started. Raise KeyboardInterrupt."""
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=Protocol,
        ws="none",
        lifespan="on",
        access_log=False,
        proxy_headers=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    Protocol.most_connections = connection_limit()
    Protocol.peers = app.peers
    server = _Server(config, app, settings.drain_s)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=listeners))
    return server.started
