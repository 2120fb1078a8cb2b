"""`python -m baton.serve.worker`: one of several processes that answer requests; `baton.serve.workers` starts it.

It reads an `Order` from its standard input, and exits once that input ends: then the supervisor is gone.
"""

import asyncio
import gc
import os
import signal
import socket
import sys

import msgspec

from baton.serve.warm import warm_politely

READY = b"ready\n"
"""The line that a worker prints once it takes calls."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the workers share: Redis's URL, and the listening sockets by their descriptors."""

    redis_url: str
    listeners: list[int]


def main() -> None:
    """Read the order and serve. Settings come from the environment, as the supervisor's do."""
    line = sys.stdin.buffer.readline()
    if not line:  # the supervisor is gone already
        return
    order = msgspec.json.decode(line, type=Order)
    gc.disable()  # until it is ready, as in `baton.serve.command`
    warm_politely()
    from baton.kernel.base.logs import configure
    from baton.kernel.base.settings import Settings
    from baton.kernel.http.serving.server import run
    from baton.main import create_app

    settings = Settings()
    configure(settings.log_level, settings.log_format)

    def ready() -> None:
        loop, stdin = asyncio.get_running_loop(), sys.stdin.fileno()

        def leave() -> None:
            loop.remove_reader(stdin)
            os.kill(os.getpid(), signal.SIGTERM)

        loop.add_reader(stdin, leave)
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()

    app = create_app(settings, on_ready=ready, redis_url=order.redis_url)
    if not run(settings, app, [socket.socket(fileno=one) for one in order.listeners]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
