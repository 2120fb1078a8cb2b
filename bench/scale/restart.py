"""Measures the cost of a rolling restart: `python -m bench.scale.restart [--rate 200] [--rounds 2]`.

Two servers share a Valkey and a Postgres. Calls go to any ready one, as from a load balancer with ten checks of
`/readyz` a second; the servers are restarted one after the other. The rows count slow answers without restarts, and
during them. The load and both servers share the machine, so its load average is printed, too.
"""

import argparse
import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import uvloop

from bench.soak.load import Http
from bench.soak.world import Valkey, until
from tests.support.postgres import Postgres

LATE_S = 0.25
LOOK_S = 0.1
TICK_S = 0.01
QUIET_S = 10.0
START_S = 120.0
SESSIONS = 50


class Server:
    """One server, possibly stopped."""

    def __init__(self, home: Path, env: dict[str, str]) -> None:
        self._home = home
        self.env = env | {"BATON_HOME": str(home), "PORT": "0"}
        self.http: Http | None = None
        self.token = ""
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it, and wait until it is ready."""
        note = self._home / "server.json"
        note.unlink(missing_ok=True)
        command = [str(Path(sys.executable).parent / "baton"), "serve"]
        self._process = subprocess.Popen(command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
        if not await until(note.exists, START_S):
            raise SystemExit("the server did not start")
        self.http = Http(int(json.loads(note.read_text())["url"].rpartition(":")[2]), self.token)

    async def stop(self) -> None:
        """End it like an operator, and wait for that."""
        assert self._process is not None
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, START_S)
        self.http = None


class Balancer:
    """Sends each call to the next ready server, and to another one if the connection breaks."""

    def __init__(self, servers: list[Server]) -> None:
        self._servers = servers
        self._ready: list[Http] = []
        self._turn = itertools.count()

    async def watch(self) -> None:
        """Check every server repeatedly for readiness."""
        while True:
            self._ready = [one.http for one in self._servers if one.http is not None and await _is_ready(one.http)]
            await asyncio.sleep(LOOK_S)

    async def post(self, path: str, body: bytes) -> int:
        """Send a call; return the status, 0 without an answer."""
        for _ in range(3):
            if not self._ready:
                await asyncio.sleep(LOOK_S)
                continue
            http = self._ready[next(self._turn) % len(self._ready)]
            try:
                return (await http.request("POST", path, body))[0]
            except (OSError, EOFError):
                self._ready = [one for one in self._ready if one is not http]
        return 0


async def _is_ready(http: Http) -> bool:
    try:
        async with asyncio.timeout(1):
            return (await http.request("GET", "/readyz"))[0] == 200
    except (OSError, EOFError):
        return False


class Seen(msgspec.Struct):
    """Times of answers, in seconds, without the load's own delay, at most `lag_s`."""

    took: list[float] = []
    unanswered: int = 0
    lag_s: float = 0.0
    late_s: float = 0.0

    async def tick(self) -> None:
        """Measure the load's own delay: on a busy machine it waits for a processor like the servers."""
        while True:
            due = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            late = max(0.0, time.monotonic() - due)
            self.late_s += late
            self.lag_s = max(self.lag_s, late)

    def line(self, name: str) -> str:
        """Return a row of the table."""
        ordered = sorted(self.took)
        late = sum(one > LATE_S for one in ordered)
        p50, p99 = (1_000 * ordered[int(len(ordered) * share)] for share in (0.5, 0.99))
        return (
            f"{name:24}{len(ordered):>8}{p50:>8.1f}{p99:>8.1f}{ordered[-1] * 1_000:>9.0f}{late:>9}"
            f"{late / len(ordered):>9.2%}{self.unanswered:>12}{self.lag_s * 1_000:>7.0f}{os.getloadavg()[0]:>7.1f}"
        )


async def calls(balancer: Balancer, rate: float, stop: asyncio.Event) -> Seen:
    """Send calls at a steady rate until stopped."""
    seen, asking, due = Seen(), set[asyncio.Task[None]](), time.monotonic()

    async def call(number: int) -> None:
        started, late = time.monotonic(), seen.late_s
        status = await balancer.post("/pre-tool-use", _body(number))
        seen.took.append(max(0.0, time.monotonic() - started - (seen.late_s - late)))
        seen.unanswered += status != 200

    ticking = asyncio.create_task(seen.tick())
    for number in itertools.count():
        if stop.is_set():
            break
        task = asyncio.create_task(call(number))
        asking.add(task)
        task.add_done_callback(asking.discard)
        due += 1 / rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    await asyncio.gather(*asking)
    ticking.cancel()
    return seen


def _body(number: int) -> bytes:
    command = ("git status", "ls -la src", f"grep -rn total part{number % 97}.py", "make test")[number % 4]
    call = {"tool_name": "Bash", "tool_input": {"command": command}}
    return json.dumps(call | {"session_id": f"restart-{number % SESSIONS}", "tool_use_id": f"toolu_{number}"}).encode()


async def measure(folder: Path, rate: float, rounds: int) -> None:
    """Start everything, and print a row without restarts and one for each round of them."""
    valkey, postgres = Valkey(folder / "valkey"), Postgres(folder).make()
    servers = []
    try:
        await valkey.start()
        postgres.sql("CREATE DATABASE baton")
        env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
        env |= {"BATON_REDIS_URL": f"unix://{valkey.socket}", "BATON_DATABASE_URL": postgres.url("baton")}
        env |= {"BATON_LOG_LEVEL": "error", "BATON_AGENT_RATE_PER_MINUTE": "0"}
        for name in ("one", "other"):
            (folder / name).mkdir()
            servers.append(Server(folder / name, env))
        await servers[0].start()
        command = [str(Path(sys.executable).parent / "baton"), "db", "admin-token", "--json"]
        made = await asyncio.to_thread(subprocess.run, command, env=servers[0].env, capture_output=True, check=True)
        for server in servers:
            server.token = json.loads(made.stdout)["text"]
        await servers[0].stop()
        for server in servers:
            await server.start()
        balancer = Balancer(servers)
        watching = asyncio.create_task(balancer.watch())
        await asyncio.sleep(QUIET_S)
        print(
            f"{'':24}{'calls':>8}{'p50':>8}{'p99':>8}{'slowest':>9}{'>250 ms':>9}{'share':>9}{'unanswered':>12}{'lag':>7}{'load':>7}"
        )
        for name in ["no restart", *(f"rolling restart {number + 1}" for number in range(rounds))]:
            stop = asyncio.Event()
            asking = asyncio.create_task(calls(balancer, rate, stop))
            await asyncio.sleep(QUIET_S / 4)
            for server in servers if name != "no restart" else []:
                await server.stop()
                await server.start()
                await asyncio.sleep(QUIET_S / 4)
            await asyncio.sleep(QUIET_S if name == "no restart" else 0)
            stop.set()
            print((await asking).line(name), flush=True)
        watching.cancel()
    finally:
        for server in servers:
            if server.http is not None:
                await server.stop()
        if valkey.process is not None:
            valkey.kill()
        postgres.stop()


def main() -> None:
    """Measure in a temporary folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="baton-restart-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        uvloop.run(measure(folder, asked.rate, asked.rounds))
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
