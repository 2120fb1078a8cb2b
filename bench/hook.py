"""Measures the start-up cost of a hook and the command line, next to a process, an empty Python, and sh with curl.

Every round runs each command once, so a busy moment affects all of them; compare the ratios, not the figures. The
server answers at once. `python -m bench.hook` runs for about a minute. `python -m bench.hook far` measures the ways of
a hook to a server behind a proxy with a round trip of 0, 10, 30 and 80 ms, in plain HTTP; TLS adds one round trip more
to each new connection. `python -m bench.hook clients` measures them with a recorded call of each client. `python -m bench.hook away` measures the decisions of a relay whose server has ended, and
`python -m bench.hook turn [CLIENT]` a turn of twenty calls of a real client, without Baton and with a server 30 ms away.
"""

import asyncio
import contextlib
import http.client
import http.server
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import httpx2
import psutil

from baton.cli.hooks.relay import new_port
from baton.clients.registry import SPECS
from baton.local.server import UnixConnection
from baton.relay.native import HEADER
from bench.server import serving
from tests.hooks.shim import HOOKS, PYTHON, Scripted
from tests.support.processes import waits
from tests.support.recorded import recorded

if TYPE_CHECKING:
    from tests.e2e.conftest import Stage
    from tests.e2e.model_endpoint import Step

ROUNDS = 60
MOST = 2.0
"""Maximum time of `baton hook`, as a multiple of the POSIX shim (sh and curl)."""
EVENT = ("claude-code", "PreToolUse")
ROUND_TRIPS = (0, 10, 30, 80)
DECIDED, IDLE_S = 5_000, 60
PER_ROUND = 20
"""Http hooks per shim in a round of `away`."""
CALLS, TURNS, TRIP_MS = 20, 6, 30
WAYS = {
    "without Baton": None,
    "shim": ("--transport", "curl"),
    "shim, relay": ("--transport", "curl", "--relay"),
    "http hooks, relay": ("--transport", "http", "--relay"),
}
"""Of `turn`: flags of `baton hooks install`."""
BODY = b'{"hook_event_name": "PreToolUse"}'


def milliseconds(command: list[str], env: dict[str, str], body: bytes = BODY) -> float:
    """Run a command with an event as its input, and return its time, in ms."""
    began = time.perf_counter()
    subprocess.run(command, env=env, input=body, capture_output=True, check=True)
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    """Print a line for each command: minimum and median in ms, and the median of its ratios to sh with curl."""
    server = Scripted()
    shim = ["sh", str(HOOKS / "baton-hook.sh"), *EVENT]
    bare = ["sh", "-c", f"exec curl -q -s --data-binary @- {server.url}/hooks/claude-code?event=PreToolUse"]
    commands = {
        "floor: a process": [str(shutil.which("true"))],
        "sh + curl, bare": bare,
        "baton-hook.sh (sh + curl)": shim,
        "baton hook": [*PYTHON, *EVENT],
        "python -c pass": [sys.executable, "-c", "pass"],
        "baton --version": [sys.executable, "-m", "baton", "--version"],
        "baton --help": [sys.executable, "-m", "baton", "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home}
        config = Path(home) / "config"  # as written by `baton hooks install` and named in the hook's line
        config.write_text(f"BATON_URL={server.url}\nBATON_USER=bench\n")
        for name in ("baton-hook.sh (sh + curl)", "baton hook"):
            commands[name].append(str(config))
        for number in range(ROUNDS + 2):
            for name, command in commands.items():
                took = milliseconds(command, env)
                if number > 1:  # the first fill the caches
                    times[name].append(took)
    server.close()
    usual = times["baton-hook.sh (sh + curl)"]
    for name, runs in times.items():
        ratio = statistics.median(one / other for one, other in zip(runs, usual, strict=True))
        print(
            f"{name:28} least {min(runs):6.1f} ms, median {statistics.median(runs):6.1f} ms, x {ratio:.2f} of sh + curl"
        )
    least = min(times["baton hook"]) / min(usual)
    print(f"baton hook takes x {least:.2f} of sh + curl at the least; at most x {MOST:.1f} is wanted")


class _KeptAlive(http.server.BaseHTTPRequestHandler):
    bundle = b""
    """The rules of a real server."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nBaton-Protocol: 1\r\nContent-Length: 2\r\n\r\n{}"
        )

    def do_GET(self) -> None:
        """Give the relay the rules, once a minute, as a server does."""
        head = f'HTTP/1.1 200 OK\r\nETag: "{sha256(self.bundle).hexdigest()}"\r\nContent-Length: {len(self.bundle)}\r\n\r\n'
        self.wfile.write(head.encode() + self.bundle)

    def log_message(self, *_: object) -> None:
        pass


async def distant(server: int, trip_ms: int) -> int:
    """Start a proxy to a port. It delays each direction by half a round trip, a new connection by a whole one."""
    loop, half = asyncio.get_running_loop(), trip_ms / 2_000

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while part := await source.read(1 << 16):
                loop.call_later(half, sink.write, part) if half else sink.write(part)
        loop.call_later(half, sink.close)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2 * half)  # the kernel has accepted it at once
        there, back = await asyncio.open_connection("127.0.0.1", server)
        await asyncio.gather(carry(reader, back), carry(there, writer))

    proxy = await asyncio.start_server(connected, "127.0.0.1", 0)
    return int(proxy.sockets[0].getsockname()[1])


def _post(connection: http.client.HTTPConnection, headers: dict[str, str], body: bytes = BODY) -> float:
    began = time.perf_counter()
    connection.request("POST", "/hooks/claude-code?event=PreToolUse", body, headers)
    connection.getresponse().read()
    return 1000 * (time.perf_counter() - began)


def clients() -> None:
    """Print the table of `far` with the ways of each client: the milliseconds of a tool call, by client and transport."""
    bodies: dict[str, bytes] = {}
    for client in SPECS:
        found, native = recorded(client.replace("-", "_")), SPECS[client].natives[EVENT[1]]
        name = next(one for one in found if one.startswith((native, EVENT[1])))
        bodies[client] = json.dumps(found[name]).encode()
    far(bodies)


def far(bodies: Mapping[str, bytes] = MappingProxyType({EVENT[0]: BODY})) -> None:
    """Print a table: medians of each way to a server by round trip, and of its ratio to bare `sh` with curl.

    `bodies` has a call of each client to measure.
    """
    with serving() as real:
        access = {"Authorization": f"Bearer {real.token}"}
        _KeptAlive.bundle = httpx2.get(f"{real.url}/bundle", headers=access, timeout=60, trust_env=False).content
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _KeptAlive)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    times: dict[tuple[int, str], list[float]] = {}
    relays: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as home:
        ways: list[tuple[int, str, Callable[[], float]]] = []
        env = {"PATH": os.environ["PATH"], "HOME": home}
        for trip in ROUND_TRIPS:
            port = asyncio.run_coroutine_threadsafe(distant(server.server_port, trip), loop).result()
            ways += _ways(Path(home), env, trip, port, relays, bodies)
        order = [(trip, name) for trip, name, _ in ways]
        try:
            for number in range(ROUNDS + 2):
                random.shuffle(ways)  # a way after a long wait finds cold caches and idle processors
                for trip, name, run in ways:
                    took = run()
                    if number > 1:
                        times.setdefault((trip, name), []).append(took)
        finally:
            for relay in relays:
                relay.terminate()
                relay.wait()
    print(f"median ms (x bare), load {os.getloadavg()[0]:.1f}", *(f"{trip} ms" for trip in ROUND_TRIPS), sep=" | ")
    for name in dict.fromkeys(name for _, name in order):
        cells = []
        for trip in ROUND_TRIPS:
            runs, bare = times[trip, name], times[trip, "sh + curl, bare"]
            ratio = statistics.median(one / other for one, other in zip(runs, bare, strict=True))
            cells.append(f"{statistics.median(runs):.1f} ({ratio:.2f})")
        print(name, *cells, sep=" | ")


def _ways(
    home: Path,
    env: dict[str, str],
    trip: int,
    port: int,
    relays: list[subprocess.Popen[bytes]],
    bodies: Mapping[str, bytes],
) -> list[tuple[int, str, Callable[[], float]]]:
    url, socket = f"http://127.0.0.1:{port}", home / f"{trip}.sock"
    direct, through = home / f"direct-{trip}", home / f"relay-{trip}"
    direct.write_text(f"BATON_URL={url}\nBATON_USER=bench\n")
    place = _relay(through, direct.read_text(), socket, relays, env | {"BATON_URL": url})
    bare = f"exec curl -q -s --data-binary @- {url}/hooks/claude-code?event=PreToolUse"
    shims: list[tuple[int, str, Callable[[], float]]] = []
    for client, body in bodies.items():
        shim, more = ["sh", str(HOOKS / "baton-hook.sh"), client, EVENT[1]], f", {client}" * (len(bodies) > 1)
        for name, config in (("shim", direct), ("shim, relay", through)):
            run = partial(milliseconds, [*shim, str(config)], env, body)
            shims.append((trip, name + more, run))
    kept, relayed = (http.client.HTTPConnection("127.0.0.1", one) for one in (port, int(place.partition(" ")[0])))
    return [
        (trip, "sh + curl, bare", lambda: milliseconds(["sh", "-c", bare], env)),
        *shims,
        (trip, "one kept-alive connection", lambda: _post(kept, {})),
        (trip, "http hook, relay", lambda: _post(relayed, {HEADER: place.partition(" ")[2]})),
    ]


def _relay(config: Path, lines: str, socket: Path, relays: list[subprocess.Popen[bytes]], env: dict[str, str]) -> str:
    """Start a relay with a config file, and return its port and secret."""
    place = new_port()
    config.write_text(f"{lines}BATON_RELAY={socket} {sys.executable}\nBATON_RELAY_PORT={place}\n")
    program = [sys.executable, "-m", "baton.relay.process", str(socket), str(config)]
    relays.append(subprocess.Popen(program, env=env))
    while not socket.exists():
        time.sleep(0.01)
    time.sleep(0.5)
    return place


def _state(socket: Path) -> dict[str, object]:
    connection = UnixConnection(socket, 10)
    connection.request("GET", "/relay")
    return dict(json.loads(connection.getresponse().read()))


def away() -> None:
    """Print a table: calls decided while the server is away, each with a line never seen before."""
    times: dict[str, list[float]] = {}
    relays: list[subprocess.Popen[bytes]] = []
    empty = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _KeptAlive)
    threading.Thread(target=empty.serve_forever, daemon=True).start()
    floor = http.client.HTTPConnection("127.0.0.1", empty.server_port)
    with tempfile.TemporaryDirectory() as folder:
        home, socket = Path(folder), Path(folder) / "relay.sock"
        config, env = home / "config", {"PATH": os.environ["PATH"], "HOME": folder}
        try:
            with serving() as server:
                lines = f"BATON_URL={server.url}\nBATON_USER=bench\n"
                port, _, secret = _relay(config, lines, socket, relays, env | {"BATON_URL": server.url}).partition(" ")
                kept, relay = http.client.HTTPConnection("127.0.0.1", int(port)), psutil.Process(relays[0].pid)
                while not _state(socket)["rules_as_of"]:
                    _post(kept, {HEADER: secret}, _call("ls"))
            shim = ["sh", str(HOOKS / "baton-hook.sh"), *EVENT, str(config)]
            ways: list[tuple[str, Callable[[bytes], float]]] = [
                ("shim, relay", lambda body: milliseconds(shim, env, body)),
                *[
                    ("http hook, relay", lambda body: _post(kept, {HEADER: secret}, body)),
                    ("one kept-alive connection", lambda body: _post(floor, {}, body)),
                ]
                * PER_ROUND,
            ]
            used, before = sum(relay.cpu_times()[:2]), relay.memory_info().rss
            for number in range(ROUNDS + 2):
                for place, (name, run) in enumerate(ways):
                    took = run(_call(f"git log --oneline -n {number} -- src/part{place}.py && make test-{number}"))
                    if number > 1:
                        times.setdefault(name, []).append(took)
            used, decided = sum(relay.cpu_times()[:2]) - used, _state(socket)["records_waiting"]
            for number in range(DECIDED):
                _post(kept, {HEADER: secret}, _call(f"git show {number}"))
            kept.close()
            time.sleep(1)
            after, woken = relay.memory_info().rss, waits(relay)
            time.sleep(IDLE_S)
            woken = waits(relay) - woken
        finally:
            for one in relays:
                one.terminate()
                one.wait()
    each = 1000 * used / (PER_ROUND + 1) / (ROUNDS + 2)
    print(
        f"ms, load {os.getloadavg()[0]:.1f}, {decided} calls decided, relay's CPU {each:.2f}",
        "least",
        "p50",
        "p95",
        sep=" | ",
    )
    for name, runs in times.items():
        cuts = statistics.quantiles(runs, n=20)
        print(name, *(f"{value:.1f}" for value in (min(runs), cuts[9], cuts[18])), sep=" | ")
    print(
        f"MB with the rules {before / 1e6:.1f}, after {DECIDED} more calls {after / 1e6:.1f}; idle {IDLE_S} s: {woken} wake-ups"
    )


def _call(line: str) -> bytes:
    """Return the event of a shell line."""
    call = {"session_id": "away", "tool_name": "Bash", "tool_input": {"command": line}, "cwd": "/"}
    return json.dumps({"hook_event_name": "PreToolUse", "tool_use_id": line, **call}).encode()


def turn(client: str = "claude-code") -> None:
    """Print a line for each way: least and median in seconds, and the median of what a call costs more, in ms.

    Every round plays the turn once each way. The model is scripted, and answers at once. The time is from its first
    answer to its last, in plain HTTP.
    """
    from tests.e2e import clients  # noqa: PLC0415 - the other measurements need no clients
    from tests.e2e.conftest import Server, ask_relay, made  # noqa: PLC0415

    clients.install()
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
            for number in range(TURNS + 1):
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


def _turn(client: str, stage: "Stage", number: int) -> float:
    """Play the turn, and return its time, in seconds."""
    from tests.e2e.test_outage import CLIENTS  # noqa: PLC0415

    moments: list[float] = []
    play, shell = next(one[1:] for one in CLIENTS if one[0] == client)

    def at(step: "Step") -> "Step":
        moments.append(time.monotonic())
        return step

    calls = [shell(f"echo {number}-{one}") for one in range(CALLS)]
    played = play(stage, {"main": [lambda: at(calls[0]), *calls[1:], lambda: at("bye")]})
    assert len(played.results()) == CALLS, played.ran
    return moments[-1] - moments[0]


if __name__ == "__main__":
    way, *rest = sys.argv[1:] or [""]
    ways: dict[str, Callable[..., None]] = {"far": far, "clients": clients, "away": away, "turn": turn}
    ways.get(way, main)(*rest)
