"""Measures `/pre-tool-use` in one interleaved run, beside the floor F1 and hooks that start a process a call.

Baton's rows have the CPU time of Valkey and of the process that stores. They are: mixed calls, new commands, a fixed rate, a new
connection a call, and real commands by length.

With `--cerbos FOLDER`, Cerbos is asked for the same mixed calls in the same rounds (`bench.cerbos`).

Compare the ratios, not the figures: machines differ. Everything runs on loopback and ends by itself.
"""

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec
import psutil
import uvloop

from bench import cerbos
from bench.engine import LENGTHS, lines
from bench.load import Result, run, run_anew, run_paced, summed
from bench.server import Started, floor, serving

ROUNDS = 5
SECONDS = 2.0
CONNECTIONS = 64
PROCESS_CALLS = 15
PER_SECOND = 1_000
"""The fixed rate."""
ANEW = 8
"""Clients that make a new connection for each call."""
SETTLE_S = 0.7
"""How long storing may go on after a round, in seconds; its CPU time counts for the round."""

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


def bodies(*, fresh: bool) -> Iterator[bytes]:
    """Payloads as clients post them; with `fresh` each shell command is one that was never seen."""
    for number in itertools.count():
        tool, given = ("Bash", {}) if fresh else _CALLS[number % len(_CALLS)]
        if fresh:
            given = {
                "command": f"cd src/app{number} && grep -rn 'total' --include='*.py' . | sort | head -{number % 90}"
            }
        yield _body(number, tool, given)


def real_bodies(least: int, most: int) -> Iterator[bytes]:
    """Payloads with the commands of the corpora that have more than `least` and at most `most` characters, in turns."""
    commands = [line for line in lines() if least < len(line) <= most]
    for number, command in enumerate(itertools.cycle(commands)):
        yield _body(number, "Bash", {"command": command}, f"{least}_")


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
FLOOR_PACED, PACED_ROW = f"(a) F1, {PER_SECOND:,} calls/s", f"(b) {PER_SECOND:,} mixed calls/s"
FLOOR_ANEW, ANEW_ROW = "(a) F1, a connection a call", "(b) mixed, a connection a call"
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
    """Post each call on a connection of its own."""
    return run_anew(port, path, stream, connections=ANEW, seconds=SECONDS)


def paced(port: int, path: str, stream: Iterator[bytes]) -> Answers:
    """Post at the fixed rate."""
    return run_paced(port, path, stream, per_second=PER_SECOND, seconds=SECONDS)


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
    given = parser.parse_args()
    with ExitStack() as stack:
        baton = stack.enter_context(serving(BATON_RATE_PER_MINUTE="1000000000"))
        baton.put("/mode", b'{"scope":"organisation","enabled":true,"level":"strict"}')
        port, process = stack.enter_context(floor(baton))
        beside = stack.enter_context(cerbos.serving(given.cerbos)) if given.cerbos else None
        _measure_all(port, process, baton, beside)


def _measure_all(
    floor_port: int, floor: psutil.Process, baton: Started, beside: tuple[int, psutil.Process] | None
) -> None:
    print(f"load when it began: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    stream, new, plain = bodies(fresh=False), bodies(fresh=True), bodies(fresh=False)
    port, ours, theirs = baton.port, baton.parts, {"server": [floor]}
    real = {
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
            MIXED: measure(port, ours, stream),
            "(b) Baton, each command new": measure(port, ours, new),
            FLOOR_PACED: measure(floor_port, theirs, plain, paced),
            PACED_ROW: measure(port, ours, stream, paced),
            FLOOR_ANEW: measure(floor_port, theirs, plain, anew),
            ANEW_ROW: measure(port, ours, stream, anew),
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


def _show(tables: dict[str, list[Result]]) -> None:
    floor = _median(tables[FLOOR], "cpu_us")
    print(
        f"{'':34}{'CPU µs':>8}{'× F1':>9}{'Valkey':>8}{'storing':>9}{'all × F1':>10}{'req/s':>8}{'p50 ms':>8}{'p99 ms':>8}"
    )
    for name, results in tables.items():
        cpu, valkey, storing = (_median(results, part) for part in ("cpu_us", "valkey_us", "storing_us"))
        row = f"{name:34}{cpu:>8.0f}{cpu / floor:>9.2f}{valkey:>8.0f}{storing:>9.0f}{(cpu + valkey + storing) / floor:>10.2f}"
        row += f"{_median(results, 'per_second'):>8.0f}{_median(results, 'p50_ms'):>8.2f}{_median(results, 'p99_ms'):>8.2f}"
        print(row)
    for kind, ours, theirs in (
        (f"{PER_SECOND:,} calls/s", PACED_ROW, FLOOR_PACED),
        ("a new connection a call", ANEW_ROW, FLOOR_ANEW),
    ):
        print(
            f"{kind}: {_median(tables[ours], 'cpu_us') / _median(tables[theirs], 'cpu_us'):.2f} × F1 of the same kind"
        )
    if CERBOS in tables:
        print(
            f"Cerbos: {_median(tables[CERBOS], 'cpu_us') / _median(tables[MIXED], 'cpu_us'):.2f} × the CPU time of Baton"
        )
    print(
        f"medians of {ROUNDS} interleaved rounds; {CONNECTIONS} connections for F1, mixed and new; one call at a time for (c), (d) and real"
        " commands"
    )


def _median(results: list[Result], part: str) -> float:
    return float(statistics.median(getattr(result, part) for result in results))


if __name__ == "__main__":
    main()
