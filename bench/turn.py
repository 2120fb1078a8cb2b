"""`python -m bench.turn [CLIENT]`: a turn of twenty calls of a real client, without Baton, and with a server 30 ms away.

The client is Claude Code unless another is named. Every round plays the turn once each way, so a busy moment affects all of them. The model is scripted, and answers at
once. The time is from its first answer to its last, in plain HTTP.
"""

import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.hook import distant
from tests.e2e import clients
from tests.e2e.conftest import Server, Stage, ask_relay, made
from tests.e2e.model_endpoint import Step
from tests.e2e.test_outage import CLIENTS

CALLS, ROUNDS, TRIP_MS = 20, 6, 30
WAYS = {
    "without Baton": None,
    "shim": ("--transport", "curl"),
    "shim, relay": ("--transport", "curl", "--relay"),
    "http hooks, relay": ("--transport", "http", "--relay"),
}


def main() -> None:
    """Print a line for each way: least and median in seconds, and the median of what a call costs more, in ms."""
    clients.install()
    client = sys.argv[1] if sys.argv[1:] else "claude-code"
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        server, stages = Server(Path(folder) / "server"), {}
        server.start()
        try:
            port = asyncio.run_coroutine_threadsafe(distant(server.port, TRIP_MS), loop).result()
            for number, (name, flags) in enumerate(WAYS.items()):
                if flags and "http" in flags and client != "claude-code":
                    continue
                stages[name] = made(server, Path(folder) / str(number))
                if flags is not None:
                    words = ("hooks", "install", "--client", client, *flags)
                    stages[name].baton(*words, url=f"http://127.0.0.1:{port}")
            for number in range(ROUNDS + 1):
                for name, stage in stages.items():
                    took = _turn(client, stage, number)
                    if number:
                        times.setdefault(name, []).append(took)
        finally:
            for stage in stages.values():
                with contextlib.suppress(OSError):
                    ask_relay(stage.home, "DELETE")
            server.stop()
    print(f"load {os.getloadavg()[0]:.1f}", "least, s", "median, s", "more per call, ms", sep=" | ")
    for name, runs in times.items():
        more = statistics.median(one - other for one, other in zip(runs, times["without Baton"], strict=True))
        print(name, f"{min(runs):.2f}", f"{statistics.median(runs):.2f}", f"{1000 * more / CALLS:.0f}", sep=" | ")


def _turn(client: str, stage: Stage, number: int) -> float:
    """Play the turn, and return its time, in seconds."""
    moments: list[float] = []
    play, shell = next(one[1:] for one in CLIENTS if one[0] == client)

    def at(step: Step) -> Step:
        moments.append(time.monotonic())
        return step

    calls = [shell(f"echo {number}-{one}") for one in range(CALLS)]
    played = play(stage, {"main": [lambda: at(calls[0]), *calls[1:], lambda: at("bye")]})
    assert len(played.results()) == CALLS, played.ran
    return moments[-1] - moments[0]


if __name__ == "__main__":
    main()
