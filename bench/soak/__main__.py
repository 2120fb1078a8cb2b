"""`make soak`: every fault under load, a table, and 20,000 odd requests. A miss is exit status 1."""

import sys

import uvloop

from bench.soak.odd_requests import odd_requests
from bench.soak.scenarios import SCENARIOS, Row, run
from bench.soak.world import World, world

HOLD_S = 10.0
SESSIONS_PER_S = 40.0
NEW_SESSIONS_PER_S = 1_000.0
ODD = "odd requests"


async def faults(names: list[str]) -> list[Row]:
    """Run scenarios one after the other in one world, and print each."""
    print(
        f"{'':24}{'calls':>8}{'degraded':>10}{'retried':>9}{'slowest':>10}{'lag':>9}{'>250 ms':>9}{'recovery':>10}{'lost':>6}{'memory':>9}"
    )
    rows = []
    async with world() as made:
        await run(made, "nothing broken", hold_s=3, sessions_per_s=SESSIONS_PER_S)
        for name in names:
            rate, calls = (NEW_SESSIONS_PER_S, 1) if name == "new sessions" else (SESSIONS_PER_S, 4)
            row = await run(made, name, hold_s=HOLD_S, sessions_per_s=rate, calls=calls)
            rows.append(row)
            print(
                f"{name:24}{row.seen.calls:>8}{row.seen.degraded:>10}{row.seen.retried:>9}"
                f"{row.seen.slowest_s * 1000:>7.0f} ms{row.seen.lag_s * 1000:>6.0f} ms{row.late:>9}{row.recovery_s:>8.1f} s{row.lost:>6}{row.grown_mib:>+5.0f} MiB"
                f"  {', '.join(f'{cause} {count}' for cause, count in row.seen.causes.items())}",
                flush=True,
            )
            for miss in row.misses():
                print(f"    MISS {miss}", flush=True)
        print(_health(made))
    return rows


def _health(made: World) -> str:
    errors = [line for line in made.log().splitlines() if " ERROR " in line]
    return "\n".join([f"{len(made.workers())} workers, {made.memory():.0f} MiB in all", *errors])


async def main() -> int:
    """Run the named scenarios (`odd requests` is one), or all; returns the exit status."""
    named = [name for name in sys.argv[1:] if name != ODD]
    rows = await faults(named or list(SCENARIOS)) if named or not sys.argv[1:] else []
    kept = await odd_requests() if ODD in sys.argv[1:] or not named else True
    return 0 if kept and not any(row.misses() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
