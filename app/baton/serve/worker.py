"""`python -m baton.serve.worker`: one of several worker processes, started by `baton.serve.workers`.

It reads an `WorkerOrder` from standard input, and exits when that input ends with the supervisor.
"""

import asyncio
import os
import signal
import socket
import sys
import threading

import msgspec

from baton.serve.warm import begin, warm_politely

STOP_S = 15.0  # maximum time of a worker without its supervisor, in seconds
READY = b"ready\n"  # the line printed by a ready worker


class WorkerOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The workers' shared resources: Redis's URL, and the descriptors of listening sockets."""

    redis_url: str
    listeners: list[int]


def main() -> None:
    """Read the order and serve. Settings come from the environment."""
    line = sys.stdin.buffer.readline()
    if not line:  # the supervisor has already ended
        return
    order = msgspec.json.decode(line, type=WorkerOrder)
    begin()
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
            # The supervisor has ended, and a new one needs the port: nothing is drained, and nothing outlives this.
            loop.remove_reader(stdin)
            os.kill(os.getpid(), signal.SIGINT)
            end = threading.Timer(STOP_S, os._exit, [1])
            end.daemon = True
            end.start()

        loop.add_reader(stdin, leave)
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()

    app = create_app(settings, on_ready=ready, redis_url=order.redis_url)
    if not run(settings, app, [socket.socket(fileno=one) for one in order.listeners]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
