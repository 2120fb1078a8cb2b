"""The HTTP server around an application: uvicorn with our protocol, which leaves in order."""

import asyncio
import contextlib
import resource
import signal
import socket
import time
from types import FrameType

import uvicorn

from baton.kernel.base.settings import Settings
from baton.kernel.http.serving.hot_routes import HotFastAPI
from baton.kernel.http.serving.protocol import Protocol

GRACE_S = 10
"""Seconds that requests in flight have to end after the server was told to stop."""

MOST_CONNECTIONS = 10_000
"""Connections that one process keeps open; idle ones give way to new ones above it."""
_OTHER_FILES = 128
"""File descriptors that the server itself needs: the database, Redis, policies, logs."""


class _Server(uvicorn.Server):
    """Goes on serving for a while after SIGTERM, with `/readyz` off, so that a load balancer looks elsewhere first."""

    def __init__(self, config: uvicorn.Config, app: HotFastAPI, drain_s: float) -> None:
        super().__init__(config)
        self._app = app
        self._drain_s = drain_s
        self._leave_at: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to leave on SIGTERM; on Ctrl-C, or when told again, leave at once."""
        if self.started:  # streams and polls end by themselves then
            self._app.lifecycle.phase = "draining"
        if sig != signal.SIGTERM or not self._drain_s or not self.started or self._leave_at is not None:
            super().handle_exit(sig, frame)
            return
        self._captured_signals.append(sig)
        self._leave_at = time.monotonic() + self._drain_s

    async def on_tick(self, counter: int) -> bool:
        """Leave when it is time."""
        return await super().on_tick(counter) or (self._leave_at is not None and time.monotonic() >= self._leave_at)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Leave; a second Ctrl-C spares the wait for requests in flight, not the taking down of what was started."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


def connection_limit() -> int:
    """Raise the limit on open files as far as the system allows, and return how many connections it leaves room for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with contextlib.suppress(ValueError, OSError):  # macOS has a limit of its own below the one it tells
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    room = wanted if soft == resource.RLIM_INFINITY else soft
    return max(_OTHER_FILES, min(MOST_CONNECTIONS, room - _OTHER_FILES))


def run(settings: Settings, app: HotFastAPI, listeners: list[socket.socket]) -> bool:
    """Serve until told to stop, and tell whether it ever began.

    Raises:
        KeyboardInterrupt: It was stopped by Ctrl-C.
    """
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=Protocol,
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
