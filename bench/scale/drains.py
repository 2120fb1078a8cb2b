"""Measures one and two drains on one Postgres and Valkey: `python -m bench.scale.drains [--decisions 12000]`.

Each decision waits in the log with its outcome right behind it, as in the worst case for two drains. The rows are
decisions a second until all are stored; the run fails if a decision misses its outcome. Drains of one and of two machines
take turns, on fresh decisions, so other load affects both.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from baton.events.log import BATCH, Log
from baton.kernel.base.settings import Settings
from baton.kernel.redis.client import Redis
from baton.operate import migrate
from baton.records.pipeline.drain_process import DrainProcess
from baton.rules.call.outcome import OutcomeReport
from bench.scale.__main__ import databases
from bench.soak.world import Valkey
from tests.support.records import record

ROUNDS = 3
STORED = "SELECT count(*) FROM decisions WHERE outcome = 'ran'"


def pairs(number: int, count: int) -> list[bytes]:
    """Return so many packed decisions, each followed by its outcome."""
    found: list[bytes] = []
    for at in range(count):
        name: dict[str, Any] = {"session_id": f"s{number}-{at % 50}", "tool": "Bash", "tool_use_id": f"u{number}-{at}"}
        report = OutcomeReport(
            at=datetime.now(UTC), organisation="default", user="ann", agent_id="", outcome="ran", team="t", **name
        )
        decision = record(**name, command=f"pytest tests/test_{at}.py", effect="allow")
        found += map(msgspec.msgpack.encode, (decision, report))
    return found


async def measure(machines: int, number: int, count: int, settings: Settings, url: str) -> float:
    """Return decisions a second with so many drains."""
    redis = Redis(url, timeout_s=10)
    await redis.start()
    entries, log = pairs(number, count), Log(redis)
    for at in range(0, len(entries), BATCH):
        await log.append(entries[at : at + BATCH])
    drains = [
        DrainProcess(settings.model_copy(update={"home": settings.home / f"machine-{one}"}), url)
        for one in range(machines)
    ]
    started = time.perf_counter()
    for drain in drains:
        drain.start()
    while (await log.lengths())[0]:  # noqa: ASYNC110 - the drains are other processes
        await asyncio.sleep(0.02)
    took = time.perf_counter() - started
    for drain in drains:
        await drain.stop()
    await redis.close()
    return count / took


async def run(count: int) -> None:
    """Measure both in turns, and print the medians."""
    print(f"load when it began: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    with databases(["postgres"]) as found, tempfile.TemporaryDirectory(prefix="baton-drains-") as folder:
        settings, valkey = found["postgres"], Valkey(Path(folder))
        await migrate.upgrade(settings)
        await valkey.start()
        rates: dict[int, list[float]] = {1: [], 2: []}
        try:
            for number in range(2 * ROUNDS + 2):
                machines = number % 2 + 1
                rates[machines].append(await measure(machines, number, count, settings, f"unix://{valkey.socket}"))
        finally:
            valkey.kill()
        connection = await asyncpg.connect(settings.database_url)
        stored = await connection.fetchval(STORED)
        await connection.close()
        assert stored == (2 * ROUNDS + 2) * count, f"only {stored} decisions have their outcome"
    one, two = (statistics.median(found[1:]) for found in rates.values())
    print(f"one drain {one:.0f} decisions/s, two {two:.0f} ({two / one:.2f} times), each decision with its outcome")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decisions", type=int, default=12_000, help="decisions of a round")
    asyncio.run(run(parser.parse_args().decisions))
