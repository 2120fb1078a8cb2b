"""Measures `/pre-tool-use` in one interleaved run: the floor F1, Baton, a new python3 a call, sh and curl a call.

Compare the ratios, not the figures: machines differ. Everything runs on loopback and ends by itself.
"""

import itertools
import json
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Iterator

import psutil
import uvloop

from bench.load import Result, run, summed
from bench.server import Started, floor, serving

ROUNDS = 5
SECONDS = 2.0
CONNECTIONS = 64
PROCESS_CALLS = 15

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
        yield json.dumps(
            {
                "session_id": f"session-{number % 500}",
                "cwd": "/home/dev/shop",
                "hook_event_name": "PreToolUse",
                "permission_mode": "default",
                "tool_name": tool,
                "tool_input": given,
                "tool_use_id": f"toolu_{number}_{os.getpid()}",
            }
        ).encode()


def measure(port: int, process: psutil.Process, stream: Iterator[bytes], *, connections: int, seconds: float) -> Result:
    """Run one round against a server."""
    before, started = process.cpu_times(), time.perf_counter()
    times = uvloop.run(run(port, "/pre-tool-use", stream, connections=connections, seconds=seconds))
    after, ended = process.cpu_times(), time.perf_counter()
    cpu = after.user + after.system - before.user - before.system
    return summed(times, ended - started, cpu)


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
    with serving(BATON_RATE_PER_MINUTE="1000000000") as baton:
        baton.put("/mode", b'{"scope":"organisation","enabled":true,"level":"strict"}')
        with floor(baton) as (port, process):
            _measure_all(port, process, baton)


def _measure_all(floor_port: int, floor: psutil.Process, baton: Started) -> None:
    stream, new, plain = bodies(fresh=False), bodies(fresh=True), bodies(fresh=False)
    body = next(stream)
    curl = "curl -s --max-time 1.8 --noproxy '*' -H 'content-type: application/json' --data-binary @- " + baton.url
    tables: dict[str, list[Result]] = {}
    for round_number in range(ROUNDS + 1):
        results = {
            "(a) floor F1": measure(floor_port, floor, plain, connections=CONNECTIONS, seconds=SECONDS),
            "(b) Baton, mixed calls": measure(
                baton.port, baton.process, stream, connections=CONNECTIONS, seconds=SECONDS
            ),
            "(b) Baton, each command new": measure(
                baton.port, baton.process, new, connections=CONNECTIONS, seconds=SECONDS
            ),
            "(c) python3 a call": measure_processes(["python3", "-c", _PYTHON_HOOK], body, dict(os.environ)),
            "(d) sh+curl a call": measure_processes(["sh", "-c", f"{curl}/hooks/claude-code"], body, dict(os.environ)),
        }
        if round_number:  # the first one warms up
            for name, result in results.items():
                tables.setdefault(name, []).append(result)
    _show(tables)


def _show(tables: dict[str, list[Result]]) -> None:
    floor = statistics.median(result.cpu_us for result in tables["(a) floor F1"])
    print(f"{'':30}{'CPU µs':>10}{'× F1':>8}{'req/s':>10}{'p50 ms':>9}{'p99 ms':>9}")
    for name, results in tables.items():
        cpu = statistics.median(result.cpu_us for result in results)
        rate = statistics.median(result.per_second for result in results)
        p50 = statistics.median(result.p50_ms for result in results)
        p99 = statistics.median(result.p99_ms for result in results)
        print(f"{name:30}{cpu:>10.0f}{cpu / floor:>8.2f}{rate:>10.0f}{p50:>9.2f}{p99:>9.2f}")
    print(
        f"medians of {ROUNDS} interleaved rounds; {CONNECTIONS} connections for (a) and (b), one call at a time for (c) and (d)"
    )


if __name__ == "__main__":
    main()
