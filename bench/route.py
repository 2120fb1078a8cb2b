"""Measures routing: CPU of the scorer by roster and prompt, memory, and `/route` through HTTP next to the floor F1.

Compare the ratios, not the figures: machines differ. `python -m bench.route` runs for about a minute.
"""

import itertools
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import uvloop

from baton.kernel.base.word_table import shared
from baton.lib.router.agents import Agent
from baton.lib.router.index import Index
from bench.load import Result, run, summed
from bench.server import ROOT, floor, serving

AGENTS = (21, 73, 403, 1_000)
LENGTHS = (50, 1_000, 10_000)
"""The public prompts have 51 characters on average."""
PROMPTS = 200
ROSTERS = 50
REPEATS = 3
"""Times that a prompt is scored; the fastest counts, for others use the processor, too."""
ROUNDS = 5
SECONDS = 2.0
CONNECTIONS = 64
_SUBJECTS = (
    "kubernetes", "database", "payment", "frontend", "search", "security", "testing", "release", "network", "billing",
    "documentation", "mobile", "analytics", "compiler", "storage", "privacy", "translation", "accessibility",
)  # fmt: skip
_ROLES = ("engineer", "reviewer", "architect", "tester", "writer", "analyst", "operator", "designer", "planner")


def text(random: random.Random, words: list[str], count: int) -> str:
    """Return so many words of real prose in a new order."""
    return " ".join(random.choice(words) for _ in range(count))


def prose() -> list[str]:
    """Return the words of this repository's documents, a sample of real prose."""
    return [word for path in sorted(ROOT.glob("docs/**/*.md")) for word in path.read_text().split()]


def roster(count: int) -> list[Agent]:
    """Make agents with descriptions of forty and bodies of seven hundred words."""
    numbers, words = random.Random(count), prose()  # noqa: S311 - a measurement that is the same each time
    return [
        Agent(
            name=f"{_SUBJECTS[n % len(_SUBJECTS)]}-{_ROLES[n // len(_SUBJECTS) % len(_ROLES)]}-{n}",
            description=f"{_SUBJECTS[n % len(_SUBJECTS)]}: {text(numbers, words, 40)}",
            body=text(numbers, words, 700),
        )
        for n in range(count)
    ]


def prompts(length: int) -> Iterator[str]:
    """Return different prompts of a length."""
    numbers, words = random.Random(length), prose()  # noqa: S311
    while True:
        yield text(numbers, words, length // 3)[:length]


def scorer() -> None:
    """Measure the CPU of one prompt, in this process."""
    table = shared()
    print(f"{'agents':>8}{'characters':>12}{'CPU p50 ms':>12}{'CPU p99 ms':>12}{'build s':>9}")
    for count in AGENTS:
        started = time.process_time()
        index = Index(roster(count), table)
        built = time.process_time() - started
        for length in LENGTHS:
            times = []
            for prompt in itertools.islice(prompts(length), PROMPTS):
                index.score(prompt)  # a team's words are known after a day
                times.append(min(_cpu_ms(index, prompt) for _ in range(REPEATS)))
            times.sort()
            p50, p99 = statistics.median(times), times[int(0.99 * len(times))]
            print(f"{count:>8}{length:>12}{p50:>12.2f}{p99:>12.2f}{built:>9.2f}")


def _cpu_ms(index: Index, prompt: str) -> float:
    at = time.process_time()
    index.score(prompt)
    return (time.process_time() - at) * 1000


def memory() -> None:
    """Measure the memory of fifty rosters of a thousand agents, in a separate process."""
    code = (
        "import psutil; from bench.route import roster, ROSTERS; from baton.lib.router.index import Index;"
        "from baton.kernel.base.word_table import find; table = find(); table.embed('x'); agents = roster(1_000);"
        "rss = lambda: psutil.Process().memory_info().rss; before = rss();"
        "kept = [Index(agents, table) for _ in range(10)];"
        "print((rss() - before) / 10 / 1e6)"
    )
    each = float(
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    )
    print(f"{each:.1f} MB for 1,000 agents, {each * ROSTERS:.0f} MB for {ROSTERS} such rosters")


def bodies() -> Iterator[bytes]:
    """Return prompts as clients post them."""
    for number, prompt in enumerate(prompts(120)):
        yield json.dumps({"session_id": f"s{number % 500}", "prompt": prompt, "roster": "bench"}).encode()


def floor_bodies() -> Iterator[bytes]:
    """Return payloads for the floor."""
    for number in itertools.count():
        yield json.dumps({"session_id": f"s{number % 500}", "tool_name": "Bash", "tool_input": {}}).encode()


def http() -> None:
    """Measure `/route` over a roster of 403 agents and the floor in turns."""
    with serving(BATON_RATE_PER_MINUTE="0") as baton:
        agents = [{"name": a.name, "description": a.description, "body": a.body} for a in roster(403)]
        baton.put("/rosters/bench", json.dumps({"agents": agents}).encode())
        with floor(baton) as (port, process):
            servers = {
                "(a) floor F1": (port, process, "/pre-tool-use", floor_bodies()),
                "(b) /route, 403 agents": (baton.port, baton.process, "/route", bodies()),
            }
            for server in servers.values():
                _measure(*server)  # warms up
            tables: dict[str, list[Result]] = {name: [] for name in servers}
            for _ in range(ROUNDS):
                for name, server in servers.items():
                    tables[name].append(_measure(*server))
            _show(tables)


def _measure(port: int, process: psutil.Process, path: str, stream: Iterator[bytes]) -> Result:
    before, started = process.cpu_times(), time.perf_counter()
    times = uvloop.run(run(port, path, stream, connections=CONNECTIONS, seconds=SECONDS))
    after, ended = process.cpu_times(), time.perf_counter()
    return summed(times, ended - started, after.user + after.system - before.user - before.system)


def _show(tables: dict[str, list[Result]]) -> None:
    floor = statistics.median(result.cpu_us for result in tables["(a) floor F1"])
    print(f"{'':30}{'CPU µs':>10}{'× F1':>8}{'req/s':>10}{'p50 ms':>9}{'p99 ms':>9}")
    for name, results in tables.items():
        cpu, rate, p50, p99 = (
            statistics.median(getattr(result, field) for result in results)
            for field in ("cpu_us", "per_second", "p50_ms", "p99_ms")
        )
        print(f"{name:30}{cpu:>10.0f}{cpu / floor:>8.2f}{rate:>10.0f}{p50:>9.2f}{p99:>9.2f}")
    print(f"medians of {ROUNDS} interleaved rounds; {CONNECTIONS} connections")


if __name__ == "__main__":
    scorer()
    memory()
    http()
