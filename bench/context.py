"""Measures what is told with a prompt: `/route` without it, with all stages cold and warm, with many patterns, and while handlers hang.

Compare the ratios, not the figures: machines differ. `python -m bench.context` runs for about two minutes and ends by itself.
"""

import json
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import httpx2
import numpy as np

from baton.cli.codemap.files import outlines, project_files
from baton.context.codemap.index import CodeIndex
from baton.context.enrichment.service import WHOLE_S
from baton.context.patterns.index import IndexedPattern, TeamIndex
from baton.context.patterns.pattern import Check
from baton.kernel.base.word_table import DIMENSIONS
from bench.server import ROOT, Started, serving, serving_in

PROMPTS = 100
HANGING = 3
PATTERNS = (10_000, 100_000)
ON = {"BATON_ENABLE_LOCAL_ENRICHMENT": "1", "BATON_ENABLE_LOCAL_INFERENCE_PIPELINE": "1", "BATON_RATE_PER_MINUTE": "0"}
_ASKED = (
    "why does guarded_call count timeouts twice", "the breaker opens too early when redis is away", "add a test for Assemble",
    "mend app/baton/route/pipeline/select.py", "make the session history survive compaction", "tidy the user data export",
)  # fmt: skip


def main() -> None:
    """Print the tables."""
    _code_index()
    for size in PATTERNS:
        _pattern_index(size)
    print(f"\n{'/route, one prompt at a time':<44}{'p50 ms':>9}{'p99 ms':>9}{'longest ms':>12}  degraded")
    with serving(BATON_RATE_PER_MINUTE="0") as baton:
        _warm_up(baton)
        _show("without enrichment", *_asked(baton, sessions=PROMPTS))
    with serving(**ON, BATON_ENRICHMENT_HOSTS="localhost") as baton:
        _push(baton)
        _work(baton)
        _show("the first prompt, the map is read from SQL", *_asked(baton, sessions=1, prompts=1))
        _warm_up(baton)
        _show("all on, each prompt a new session", *_asked(baton, sessions=PROMPTS))
        _show("all on, one session", *_asked(baton, sessions=1))
        with _hanging() as port:
            for number in range(HANGING):
                baton.put(f"/context/handlers/hangs{number}", json.dumps({"url": f"http://localhost:{port}/"}).encode())
            # Five prompts: after five failures in a row a handler is left alone.
            _show(
                f"{HANGING} handlers hang (the budget is {WHOLE_S * 1000:.0f} ms)",
                *_asked(baton, sessions=5, prompts=5),
            )
            _show(f"{HANGING} handlers are left alone", *_asked(baton, sessions=PROMPTS))

    for size in PATTERNS:
        with _with_patterns(size) as baton:
            _push(baton)
            _work(baton)
            _show(f"all on, {size:,} patterns, the first prompt", *_asked(baton, sessions=1, prompts=1))
            _warm_up(baton)
            _show(f"all on, {size:,} patterns", *_asked(baton, sessions=PROMPTS))


@contextmanager
def _with_patterns(size: int) -> Iterator[Started]:
    """Run a server whose team has so many patterns in force, with random meanings."""
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as folder:
        home = Path(folder)
        with serving_in(home, **ON) as baton:
            body = {"signature": "the first", "text": "It is copied.", "team": "default"}
            headers = {"Authorization": f"Bearer {baton.token}"}
            with _client(baton) as http:
                made = http.post("/patterns", json=body, headers=headers).raise_for_status().json()["id"]
                approve = http.post(f"/patterns/{made}/approve", json={}, headers=headers | {"If-Match": "*"})
                approve.raise_for_status()
        with closing(sqlite3.connect(home / "baton.db")) as connection, connection:
            connection.row_factory = sqlite3.Row
            row = dict(connection.execute("SELECT * FROM patterns").fetchone())
            numbers = np.random.default_rng(size)
            rows = [
                row
                | {
                    "id": f"pat_{uuid4().hex}",
                    "said": str(number),
                    "signature": f"rule {number}",
                    "vector": numbers.standard_normal(DIMENSIONS).astype(np.float16).tobytes(),
                }
                for number in range(size)
            ]
            names = ", ".join(f'"{name}"' for name in row)
            holders = ", ".join(f":{name}" for name in row)
            connection.executemany(f"INSERT INTO patterns ({names}) VALUES ({holders})", rows)  # noqa: S608
        with serving_in(home, **ON) as baton:
            yield baton


def _pattern_index(size: int) -> None:
    """Measure a search of the built-in index, a tenth of whose patterns are of one project."""
    numbers = np.random.default_rng(size)
    index = TeamIndex()
    for number in range(size):
        vector = numbers.standard_normal(DIMENSIONS).astype(np.float32)
        project = "acme/shop" if number % 10 == 0 else ""
        one = IndexedPattern(str(number), f"rule {number}", project, "", "", (), 0.7 + number % 30 / 100, Check())
        index.put(one, vector / np.linalg.norm(vector))
    prompt = np.ones(DIMENSIONS, dtype=np.float32) / np.float32(DIMENSIONS**0.5)
    took = []
    for _ in range(51):
        started = time.perf_counter()
        index.best(prompt, "acme/shop", 5)
        took.append((time.perf_counter() - started) * 1000)
    print(f"index of {size:,} patterns: first search {took[0]:.2f} ms, then p50 {statistics.median(took[1:]):.2f} ms")


def _code_index() -> None:
    started = time.process_time()
    found, _ = outlines(ROOT, project_files(ROOT))
    read_s = time.process_time() - started
    rows = [
        {"path": one.path, "symbols": [tuple(s) for s in map(_row, one.symbols)], "mentions": one.mentions}
        for one in found
    ]
    started = time.process_time()
    index = CodeIndex(rows)
    built_s = time.process_time() - started
    times = []
    for prompt in _ASKED * 30:
        started = time.process_time()
        index.find(prompt)
        times.append((time.process_time() - started) * 1000)
    print(
        f"code map of this repository: {len(found)} files, {index.size} symbols; outlines {read_s:.1f} s (less where remembered),"
        f" index {built_s:.2f} s, a prompt {statistics.median(times):.2f} ms (CPU)"
    )


def _row(symbol: object) -> tuple[object, ...]:
    return tuple(getattr(symbol, name) for name in ("name", "kind", "line", "within"))


def _push(baton: Started) -> None:
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(baton.home),
        "BATON_URL": baton.url,
        "BATON_PROJECT": "bench",
        "BATON_USER": "ann",
    }
    command = [str(ROOT / ".venv" / "bin" / "baton"), "codemap", "push"]
    subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)


def _work(baton: Started) -> None:
    """Record a thousand calls, of which a summary is made."""
    with _client(baton) as http:
        for number in range(1_000):
            given = {"file_path": f"/w/src/part_{number % 40}.py", "old_string": "a", "new_string": "b"}
            call = {
                "session_id": f"w{number % 20}",
                "tool_name": "Edit",
                "tool_input": given,
                "tool_use_id": f"t{number}",
            }
            http.post("/pre-tool-use", json=call | {"project": "bench"}).raise_for_status()
    time.sleep(3)


def _warm_up(baton: Started) -> None:
    _asked(baton, sessions=20, prompts=20)


def _asked(baton: Started, *, sessions: int, prompts: int = PROMPTS) -> tuple[list[float], set[str]]:
    times, degraded = [], set()
    with _client(baton) as http:
        for number in range(prompts):
            body = {
                "prompt": f"{_ASKED[number % len(_ASKED)]} ({number})",
                "session_id": f"{time.time_ns()}-{number}" if sessions > 1 else "one",
            }
            started = time.perf_counter()
            answer = http.post("/route", json=body | {"project": "bench"}).raise_for_status().json()
            times.append((time.perf_counter() - started) * 1000)
            degraded |= set(answer["degraded"])
    return times, degraded


def _client(baton: Started) -> httpx2.Client:
    return httpx2.Client(base_url=baton.url, headers={"Baton-User": "ann"}, timeout=30, trust_env=False)


def _show(name: str, times: list[float], degraded: set[str]) -> None:
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    print(
        f"{name:<44}{statistics.median(ordered):>9.1f}{p99:>9.1f}{ordered[-1]:>12.1f}  {', '.join(sorted(degraded)) or '-'}"
    )


@contextmanager
def _hanging() -> Iterator[int]:
    """Run a server that takes connections and never answers."""
    with socket.create_server(("localhost", 0)) as listening:
        held: list[socket.socket] = []

        def accept() -> None:
            try:
                while True:
                    held.append(listening.accept()[0])
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield int(listening.getsockname()[1])
        for one in held:
            one.close()


if __name__ == "__main__":
    main()
