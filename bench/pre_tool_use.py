"""Measures `/pre-tool-use` in one interleaved run, with the floor F1 and hooks that start a process a call.

Baton's rows include the CPU time of Valkey and of the storing process; their total comes first. They are: a known call
(a `Read` in strict mode), mixed calls with events and without, with the mode off, new commands, two fixed rates, a new
connection a call, and real commands, of all lengths and by length, none of them twice. Each is divided by F1 of its kind: many connections, one, a new one a call, or the rate.

With `--cerbos FOLDER`, Cerbos gets the same mixed calls in the same rounds (`bench.cerbos`). With `--waiting NUMBER` only
mixed calls are measured, on two workers each: with so many hooks waiting for a person's answer, and twice without any.

Compare the ratios, not the figures: machines differ. Everything runs on loopback and ends by itself.
"""

import argparse
import itertools
import json
import os
import resource
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path

import httpx2
import msgspec
import psutil
import uvloop

from bench import cerbos
from bench.engine import LENGTHS
from bench.load import Result, run, run_anew, run_paced, summed
from bench.server import Started, floor, serving
from tests.lines.corpus import lines

ROUNDS = 5
SECONDS = 2.0
CONNECTIONS = 64
PROCESS_CALLS = 15
PER_SECOND = (300, 1_000)
"""The fixed rates."""
ANEW = 8
"""Clients with a new connection for each call."""
SETTLE_S = 0.7
"""Time for storing after a round, in seconds; its CPU time counts for the round."""

_CALLS = (
    ("Bash", {"command": "git status && git diff --stat | head -20"}),
    ("Read", {"file_path": "/home/dev/shop/src/cart.py"}),
    ("Bash", {"command": "uv run pytest -q tests/test_cart.py 2>&1 | tail -20"}),
    ("Edit", {"file_path": "/home/dev/shop/src/cart.py", "old_string": "a" * 200, "new_string": "b" * 300}),
    ("Task", {"subagent_type": "Explore", "description": "look", "prompt": "Where is the total computed?"}),
)
_PYTHON_HOOK = """
import json, re, sys
payload = json.load(sys.stdin)
command = payload.get("tool_input", {}).get("command", "")
blocked = [r"^npm (run|test|build)", r"^pytest", r"^python -m pytest", r"^cargo (build|test)"]
print(json.dumps({"decision": "block" if any(re.match(p, command) for p in blocked) else "allow"}))
"""


def known_bodies() -> Iterator[bytes]:
    """Payloads of one known call, a `Read`, in many sessions."""
    return (_body(number, *_CALLS[1]) for number in itertools.count())


def bodies(*, fresh: bool) -> Iterator[bytes]:
    """Payloads as clients post them; with `fresh` each shell command is new."""
    for number in itertools.count():
        tool, given = ("Bash", {}) if fresh else _CALLS[number % len(_CALLS)]
        if fresh:
            given = {
                "command": f"cd src/app{number} && grep -rn 'total' --include='*.py' . | sort | head -{number % 90}"
            }
        yield _body(number, tool, given)


def real_bodies(least: int, most: int, *, half: int = 0) -> Iterator[bytes]:
    """Payloads with the corpora's commands of more than `least` and at most `most` characters, each time a new one.

    After a turn through the corpus, each follows an `echo` of the turn's number. The halves of the corpus, 0 and 1, share
    no command.
    """
    found = sorted(dict.fromkeys(lines()), key=lambda line: blake2b(line.encode()).digest())[half::2]
    commands = [line for line in found if least < len(line) <= most]
    for number, command in enumerate(itertools.cycle(commands)):
        turn = number // len(commands)
        new = f"echo {turn}; {command}" if turn else command
        yield _body(number, "Bash", {"command": new}, f"{least}_{half}_")


def _body(number: int, tool: str, given: Mapping[str, object], name: str = "") -> bytes:
    return json.dumps(
        {
            "session_id": f"session-{number % 500}",
            "cwd": "/home/dev/shop",
            "hook_event_name": "PreToolUse",
            "permission_mode": "default",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": f"toolu_{name}{number}_{os.getpid()}",
        }
    ).encode()


MIXED = "(b) Baton, mixed calls"
CERBOS = "(e) Cerbos, 25 rules, mixed calls"
FLOOR = "(a) floor F1"
FLOOR_ONE, FLOOR_ANEW = "(a) F1, one connection", "(a) F1, a connection a call"
FLOOR_PACED = {rate: f"(a) F1, {rate:,} calls/s" for rate in PER_SECOND}
Parts = dict[str, list[psutil.Process]]
Answers = Coroutine[None, None, list[float]]
Load = Callable[[int, str, Iterator[bytes]], Answers]


def many(port: int, path: str, stream: Iterator[bytes]) -> Answers:
    """Post on many connections, as fast as answers come."""
    return run(port, path, stream, connections=CONNECTIONS, seconds=SECONDS)


def one(port: int, path: str, stream: Iterator[bytes]) -> Answers:
    """Post on one connection, one call after the other."""
    return run(port, path, stream, connections=1, seconds=SECONDS / 2)


def anew(port: int, path: str, stream: Iterator[bytes]) -> Answers:
    """Post each call on its own connection."""
    return run_anew(port, path, stream, connections=ANEW, seconds=SECONDS)


def paced(rate: int) -> Load:
    """Post at a fixed rate."""
    return lambda port, path, stream: run_paced(port, path, stream, per_second=rate, seconds=SECONDS)


def measure(port: int, parts: Parts, stream: Iterator[bytes], load: Load = many, path: str = "/pre-tool-use") -> Result:
    """Run one round against a server."""
    before, started = _cpu(parts), time.perf_counter()
    times = uvloop.run(load(port, path, stream))
    ended = time.perf_counter()
    if len(parts) > 1:
        time.sleep(SETTLE_S)
    took = {name: seconds - before[name] for name, seconds in _cpu(parts).items()}
    result = summed(times, ended - started, took["server"])
    beside = {name: took.get(name, 0.0) / len(times) * 1e6 for name in ("valkey", "storing")}
    return msgspec.structs.replace(result, valkey_us=beside["valkey"], storing_us=beside["storing"])


def _cpu(parts: Parts) -> dict[str, float]:
    times = {name: [process.cpu_times() for process in processes] for name, processes in parts.items()}
    return {name: sum(one.user + one.system for one in each) for name, each in times.items()}


def measure_processes(command: list[str], body: bytes, env: dict[str, str]) -> Result:
    """Run a process a call, one after the other; its CPU is the process's own."""
    times, before, started = [], resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for _ in range(PROCESS_CALLS):
        at = time.perf_counter()
        subprocess.run(command, input=body, env=env, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - at)
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return summed(times, ended - started, cpu)


def main() -> None:
    """Start the servers, measure in turns, print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cerbos", type=Path, metavar="FOLDER", help="measure Cerbos too, from this folder's npm package"
    )
    parser.add_argument("--waiting", type=int, metavar="NUMBER", help="measure beside so many hooks that wait")
    given = parser.parse_args()
    if given.waiting:
        _measure_beside(given.waiting)
        return
    with ExitStack() as stack:
        baton = stack.enter_context(serving(BATON_RATE_PER_MINUTE="1000000000"))
        quiet = stack.enter_context(serving(BATON_RATE_PER_MINUTE="1000000000", BATON_EVENTS="off"))
        off = stack.enter_context(serving(BATON_RATE_PER_MINUTE="1000000000"))
        for server in (baton, quiet):
            server.put("/mode", b'{"scope":"organisation","enabled":true,"level":"strict"}')
        port, process = stack.enter_context(floor(baton))
        beside = stack.enter_context(cerbos.serving(given.cerbos)) if given.cerbos else None
        _measure_all(port, process, (baton, quiet, off), beside)


def _measure_all(
    floor_port: int,
    floor: psutil.Process,
    servers: tuple[Started, Started, Started],
    beside: tuple[int, psutil.Process] | None,
) -> None:
    print(f"load when it began: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    stream, new, plain, known = bodies(fresh=False), bodies(fresh=True), bodies(fresh=False), known_bodies()
    baton, quiet, off = servers
    port, ours, theirs = baton.port, baton.parts, {"server": [floor]}
    real = {"(b) real, all lengths": real_bodies(0, LENGTHS[-1], half=1)} | {
        f"(b) real, {least + 1}-{most} characters": real_bodies(least, most)
        for least, most in zip((0, *LENGTHS), LENGTHS, strict=False)
    }
    body = next(stream)
    questions = cerbos.bodies(bodies(fresh=False))
    curl = "curl -s --max-time 1.8 --noproxy '*' -H 'content-type: application/json' --data-binary @- " + baton.url
    tables: dict[str, list[Result]] = {}
    for round_number in range(ROUNDS + 1):
        results = {
            FLOOR: measure(floor_port, theirs, plain),
            "(b) Baton, a known call": measure(port, ours, known),
            MIXED: measure(port, ours, stream),
            "(b) the same without events": measure(quiet.port, quiet.parts, stream),
            "(b) the same, mode off": measure(off.port, off.parts, stream),
            "(b) Baton, each command new": measure(port, ours, new),
            **{name: measure(floor_port, theirs, plain, paced(rate)) for rate, name in FLOOR_PACED.items()},
            **{f"(b) {rate:,} mixed calls/s": measure(port, ours, stream, paced(rate)) for rate in PER_SECOND},
            FLOOR_ANEW: measure(floor_port, theirs, plain, anew),
            "(b) mixed, a connection a call": measure(port, ours, stream, anew),
            FLOOR_ONE: measure(floor_port, theirs, plain, one),
            **{name: measure(port, ours, commands, one) for name, commands in real.items()},
            "(c) python3 a call": measure_processes(["python3", "-c", _PYTHON_HOOK], body, dict(os.environ)),
            "(d) sh+curl a call": measure_processes(["sh", "-c", f"{curl}/hooks/claude-code"], body, dict(os.environ)),
        }
        if beside is not None:
            results[CERBOS] = measure(beside[0], {"server": [beside[1]]}, questions, path=cerbos.PATH)
        if round_number:  # the first one warms up
            for name, result in results.items():
                tables.setdefault(name, []).append(result)
    _show(tables)


_RULE = """
id: team/release
description: A lead approves a release.
match: {shell: {program: release}}
decision: ask
approvers: [lead]
wait: 9m
reason: A release needs a lead.
tests: {match: [release 1], not_match: [make]}
"""
IDLE_S = 20.0
"""Time without calls whose CPU is measured, in seconds."""


def _measure_beside(number: int) -> None:
    """Measure three servers in turns: two without a waiting hook, and one with many."""
    with ExitStack() as stack:
        names = ("none waits", "none waits, again", f"{number:,} wait")
        settings = {"BATON_RATE_PER_MINUTE": "1000000000", "BATON_WORKERS": "2"}
        servers = {name: stack.enter_context(serving(**settings)) for name in names}
        for server in servers.values():
            body = json.dumps({"files": {"team/release.yaml": _RULE}}).encode()
            server.put("/policies/layers/organisation?activate=true", body)
        time.sleep(2.0)  # every worker has the rule
        waiting = [
            stack.enter_context(_waiting(servers[names[-1]], f"waits-{at // 40}", f"release {at}"))
            for at in range(number)
        ]
        print(f"load when it began: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
        stream = bodies(fresh=False)
        loads: dict[str, Load] = {"as fast as possible": many, "300 calls/s": paced(300)}
        tables: dict[tuple[str, str], list[Result]] = {}
        for round_number in range(3 * ROUNDS + 1):
            for load, ask in loads.items():
                for name, server in servers.items():
                    result = measure(server.port, server.parts, stream, ask)
                    if round_number:  # the first one warms up
                        tables.setdefault((load, name), []).append(result)
        for (load, name), results in tables.items():
            cpu, p50, p99 = (_median(results, part) for part in ("cpu_us", "p50_ms", "p99_ms"))
            base = tables[load, names[0]]
            ratios = [
                statistics.median(
                    getattr(one, part) / getattr(other, part) for one, other in zip(results, base, strict=True)
                )
                for part in ("cpu_us", "p50_ms", "p99_ms")
            ]
            shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"{load:22}{name:20}{cpu:6.0f} µs, p50 {p50:.2f} ms, p99 {p99:.2f} ms; ratios {shown}")
        before = {name: _cpu(server.parts) for name, server in servers.items()}
        time.sleep(IDLE_S)
        for name, server in servers.items():
            took = sum(_cpu(server.parts).values()) - sum(before[name].values())
            print(f"{'idle':22}{name:20}{took / IDLE_S * 1_000:6.1f} ms of CPU a second")
        print(f"{sum(_is_silent(one) for one in waiting):,} of them wait at the end")


def _is_silent(connection: socket.socket) -> bool:
    try:
        connection.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    return False


def _waiting(server: Started, session: str, command: str) -> socket.socket:
    """Let a hook wait for the answer to a request of its own, and return its connection."""
    event = {
        "session_id": session, "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/repo",
        "tool_input": {"command": command}, "tool_use_id": command,
    }  # fmt: skip
    answer = httpx2.post(f"{server.url}/hooks/claude-code", json=event, trust_env=False)
    about = answer.headers["Baton-Wants"].replace(" ", "+")
    connection = socket.create_connection(("127.0.0.1", server.port))
    head = f"POST /hooks/claude-code?event=PreToolUse&about={about} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    return connection


def _floor_of(name: str) -> str:
    """Return the row of F1 under the same load."""
    kinds = {"a connection a call": FLOOR_ANEW, "real, ": FLOOR_ONE}
    kinds |= {f") {rate:,} ": floor for rate, floor in FLOOR_PACED.items()}
    return next((floor for part, floor in kinds.items() if part in name), FLOOR)


def _show(tables: dict[str, list[Result]]) -> None:
    print(
        f"{'':34}{'all µs':>8}{'× F1':>8}{'server':>8}{'Valkey':>8}{'storing':>9}{'req/s':>8}{'p50 ms':>8}{'p99 ms':>8}"
    )
    for name, results in tables.items():
        cpu, valkey, storing = (_median(results, part) for part in ("cpu_us", "valkey_us", "storing_us"))
        total = cpu + valkey + storing
        ratio = total / _median(tables[name if name.startswith("(a)") else _floor_of(name)], "cpu_us")
        row = f"{name:34}{total:>8.0f}{ratio:>8.2f}{cpu:>8.0f}{valkey:>8.0f}{storing:>9.0f}"
        row += f"{_median(results, 'per_second'):>8.0f}{_median(results, 'p50_ms'):>8.2f}{_median(results, 'p99_ms'):>8.2f}"
        print(row)
    if CERBOS in tables:
        ours = sum(_median(tables[MIXED], part) for part in ("cpu_us", "valkey_us", "storing_us"))
        print(f"Cerbos with its decision log: {_median(tables[CERBOS], 'cpu_us') / ours:.2f} × Baton's total")
    print(
        f"medians of {ROUNDS} interleaved rounds; {CONNECTIONS} connections for F1, mixed and new; one call at a time for (c), (d) and real"
        " commands"
    )


def _median(results: list[Result], part: str) -> float:
    return float(statistics.median(getattr(result, part) for result in results))


if __name__ == "__main__":
    main()
