"""`make soak`: every fault under load, a table, and 20,000 odd requests. It stops by itself; a miss is exit status 1."""

import asyncio
import re
import subprocess
import sys
import time
from pathlib import Path

from bench.soak.scenarios import SCENARIOS, Row, run
from bench.soak.world import World, world

HOLD_S = 10.0
SESSIONS_PER_S = 40.0
NEW_SESSIONS_PER_S = 1_000.0
CASES = 20_000
LONGEST_S = 3_600.0
"""Longest that Schemathesis may take, in seconds."""
_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


async def faults(names: list[str]) -> list[Row]:
    """Run scenarios one after the other in one world, and print each."""
    print(f"{'':24}{'calls':>8}{'degraded':>10}{'retried':>9}{'slowest':>10}{'recovery':>10}{'lost':>6}{'memory':>9}")
    rows = []
    async with world() as made:
        await run(made, "nothing broken", hold_s=3, sessions_per_s=SESSIONS_PER_S)
        for name in names:
            rate, calls = (NEW_SESSIONS_PER_S, 1) if name == "new sessions" else (SESSIONS_PER_S, 4)
            row = await run(made, name, hold_s=HOLD_S, sessions_per_s=rate, calls=calls)
            rows.append(row)
            print(
                f"{name:24}{row.seen.calls:>8}{row.seen.degraded:>10}{row.seen.retried:>9}"
                f"{row.seen.slowest_s * 1000:>7.0f} ms{row.recovery_s:>8.1f} s{row.lost:>6}{row.grown_mib:>+5.0f} MiB",
                flush=True,
            )
            for miss in row.misses():
                print(f"    MISS {miss}", flush=True)
        print(_health(made))
    return rows


def _health(made: World) -> str:
    return f"{len(made.workers())} workers, {made.memory():.0f} MiB in all" + (
        f"\n{log}" if (log := made.log()) else ""
    )


async def odd_requests() -> bool:
    """Try the API with at least 20,000 cases made from its document; False when it broke its word."""
    tool = str(Path(sys.executable).parent / "schemathesis")
    cases, seed, end = 0, 0, time.monotonic() + LONGEST_S
    async with world() as made:
        url = f"http://127.0.0.1:{made.http.port}"
        while cases < CASES and time.monotonic() < end:
            seed += 1
            command = [tool, "run", f"{url}/openapi.json", "--checks", _CHECKS, "--mode", "all", "--no-color"]
            command += ["--max-examples", "60", "--workers", "2", "--seed", str(seed)]
            command += ["--generation-database", "none", *made.http.header_arguments()]
            done = await asyncio.to_thread(
                subprocess.run, command, capture_output=True, text=True, check=False, cwd=made.home
            )
            counted = re.search(r"(\d+) generated", done.stdout)
            cases += int(counted[1]) if counted else 0
            print(f"{cases} odd requests", flush=True)
            if done.returncode or not counted:
                print(done.stdout[-20_000:] + done.stderr[-2_000:])
                return False
    return cases >= CASES


async def main() -> int:
    """Run the scenarios that are named, or all and the odd requests; gives the exit status."""
    named = sys.argv[1:]
    rows = await faults(named or list(SCENARIOS))
    kept = True if named else await odd_requests()
    return 0 if kept and not any(row.misses() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
