"""Measures a server's time until it is ready: `python -m bench.scale.start [--rows 1000000] [--rounds 5]`.

An empty home, and one with so many stored decisions, are started in turn; the rows are medians. CPU time is that of the
server's process, and of its children (Valkey, and the storing one), until it is ready.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx2
import psutil

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import database_url, driver_target
from baton.operate import migrate
from bench.scale.fill import fill

LONGEST_S = 120.0
LOOK_S = 0.01


class Start(NamedTuple):
    """One start, in seconds."""

    wall: float
    server_cpu: float
    children_cpu: float


def start(home: Path) -> Start:
    """Start a server in a home, wait until it is ready, and stop it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    env |= {"BATON_HOME": str(home), "PORT": "0"}
    note = home / "server.json"
    note.unlink(missing_ok=True)
    began = time.monotonic()
    command = [str(Path(sys.executable).parent / "baton"), "serve"]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while not note.exists():
                if time.monotonic() - began > LONGEST_S or process.poll() is not None:
                    raise SystemExit("the server did not start")
                time.sleep(LOOK_S)
            url = json.loads(note.read_text())["url"]
            httpx2.get(f"{url}/readyz", trust_env=False, timeout=LONGEST_S).raise_for_status()
            wall, server = time.monotonic() - began, psutil.Process(process.pid)
            children = sum(_cpu(child) for child in server.children(recursive=True))
            return Start(wall, _cpu(server), children)
        finally:
            process.terminate()
            process.wait(LONGEST_S)


def _cpu(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:2]))


def main() -> None:
    """Start each home in turn, and print the medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="baton-start-") as folder:
        empty, full = Path(folder, "empty"), Path(folder, "full")
        full.mkdir()
        settings = Settings(home=full)
        asyncio.run(migrate.upgrade(settings))
        fill(driver_target(database_url(settings)), asked.rows, 90)
        starts: dict[str, list[Start]] = {}
        for _ in range(asked.rounds):
            empty.mkdir()
            starts.setdefault("empty", []).append(start(empty))
            starts.setdefault("empty, a second time", []).append(start(empty))
            shutil.rmtree(empty)
            starts.setdefault(f"{asked.rows} decisions", []).append(start(full))
        print(f"{'seconds until ready':28}{'wall':>8}{'server CPU':>12}{'children':>10}{'load':>8}")
        for name, found in starts.items():
            wall, server, children = (statistics.median(column) for column in zip(*found, strict=True))
            print(f"{name:28}{wall:8.1f}{server:12.2f}{children:10.2f}{os.getloadavg()[0]:8.1f}")


if __name__ == "__main__":
    main()
