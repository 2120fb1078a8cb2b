"""Faults during a load, one function each. Each ends with the fault repaired; none judges."""

import asyncio
import contextlib
import itertools
import multiprocessing
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager

import msgspec
import psutil
from redis import Redis

from bench.soak.load import BUDGET_S, Seen
from bench.soak.proxy import Proxy
from bench.soak.world import World
from tests.attacks.requests import Attack, attacks, send
from tests.runner.test_disk import SmallDisk

RECOVERY_S = 2.0
"""Maximum time from a dependency's return to complete answers, in seconds."""
DECIDED_S = 0.25
"""Maximum time of a decision within the server, in seconds; a bound of its histogram."""
STORED_S = 60.0
"""Timeout for every acknowledged record to be in SQL, in seconds."""
GROWTH_MIB = 150.0
"""Maximum growth of all processes of the server in one scenario, beyond its queues."""
_SLOW_S = 0.2
_LARGE = 10 << 20
_FULL_BYTES = 4_096

Fault = Callable[[World, float], Awaitable[float]]
"""Breaks something for so many seconds; returns the time (monotonic) of its repair."""


class Row(msgspec.Struct, frozen=True):
    """The result of one scenario."""

    name: str
    seen: Seen
    recovery_s: float
    lost: int
    grown_mib: float
    late: int
    """Decisions slower than `DECIDED_S`, by the server's own histogram."""

    def misses(self) -> list[str]:
        """Return the unmet requirements."""
        found = [f"{len(self.seen.unanswered)} calls got no decision"] if self.seen.unanswered else []
        found += [f"wrong: {text}" for text in self.seen.wrong[:3]]
        if self.seen.slowest_s > BUDGET_S:
            found.append(f"an answer took {self.seen.slowest_s:.2f} s; the budget is {BUDGET_S} s")
        if self.late:
            found.append(f"{self.late} decisions took longer than {DECIDED_S} s")
        if self.lost:
            found.append(f"{self.lost} acknowledged records are lost")
        if self.recovery_s > RECOVERY_S:
            found.append(f"recovery took {self.recovery_s:.1f} s; at most {RECOVERY_S} s is wanted")
        if self.grown_mib > GROWTH_MIB:
            found.append(f"memory grew by {self.grown_mib:.0f} MiB")
        return found


async def nothing(_world: World, hold_s: float) -> float:
    """Break nothing: the machine's own behaviour."""
    await asyncio.sleep(hold_s)
    return time.monotonic()


async def redis_killed(world: World, hold_s: float) -> float:
    """Kill Redis with SIGKILL, and start it again."""
    world.valkey.kill()
    await asyncio.sleep(hold_s)
    await world.valkey.start()
    return time.monotonic()


async def redis_hung(world: World, hold_s: float) -> float:
    """Stop Redis with SIGSTOP."""
    assert world.valkey.process is not None
    async with _hung([world.valkey.process]):
        await asyncio.sleep(hold_s)
    return time.monotonic()


async def redis_slow(world: World, hold_s: float) -> float:
    """Delay the answers of Redis by 200 ms."""
    return await _slow(world.redis_proxy, hold_s)


async def postgres_killed(world: World, hold_s: float) -> float:
    """Kill Postgres with SIGKILL, and start it again."""
    processes = world.postgres_processes()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    await asyncio.sleep(hold_s)
    await asyncio.to_thread(world.postgres.start)
    return time.monotonic()


async def postgres_hung(world: World, hold_s: float) -> float:
    """Stop every process of Postgres with SIGSTOP."""
    async with _hung(world.postgres_processes()):
        await asyncio.sleep(hold_s)
    return time.monotonic()


async def postgres_slow(world: World, hold_s: float) -> float:
    """Delay the answers of Postgres by 200 ms."""
    return await _slow(world.postgres_proxy, hold_s)


async def disk_full(world: World, hold_s: float) -> float:
    """Keep Redis from writing its append-only file, like a full disk."""
    world.valkey.limit_files(world.valkey.file_size + _FULL_BYTES)
    await asyncio.sleep(hold_s)
    world.valkey.limit_files(-1)
    return time.monotonic()


async def postgres_disk_full(world: World, hold_s: float) -> float:
    """Fill the disk of Postgres's tables."""
    return await _full(world.tables_disk, hold_s)


async def home_disk_full(world: World, hold_s: float) -> float:
    """Fill the disk of the server's home."""
    return await _full(world.home_disk, hold_s)


def redis_told(broken: tuple[str, ...], repaired: tuple[str, ...]) -> Fault:
    """Return the fault of a Redis that answers, but refuses writes."""

    async def fault(world: World, hold_s: float) -> float:
        with Redis(unix_socket_path=str(world.valkey.socket)) as redis:
            redis.execute_command(*broken)
            await asyncio.sleep(hold_s)
            redis.execute_command(*repaired)
        return time.monotonic()

    return fault


async def drain_killed(world: World, hold_s: float) -> float:
    """Kill the drain with SIGKILL."""
    world.drain().kill()
    await asyncio.sleep(hold_s)
    return time.monotonic()


async def drain_hung(world: World, hold_s: float) -> float:
    """Stop the drain with SIGSTOP."""
    async with _hung([world.drain()]):
        await asyncio.sleep(hold_s)
    return time.monotonic()


async def worker_killed(world: World, hold_s: float) -> float:
    """Kill one worker with SIGKILL."""
    world.workers()[0].kill()
    await asyncio.sleep(hold_s)
    return time.monotonic()


async def policies_reloaded(world: World, hold_s: float) -> float:
    """Change the policies ten times a second."""
    file = world.home / "policies" / "config.yaml"
    file.parent.mkdir(exist_ok=True)
    end, on = time.monotonic() + hold_s, True
    while time.monotonic() < end:
        file.write_text(f"rules:\n  options/pkill: '{'on' if on else 'off'}'\n")
        on = not on
        await asyncio.sleep(0.1)
    file.unlink()
    return time.monotonic()


async def large_bodies(world: World, hold_s: float) -> float:
    """Post bodies of 10 MiB to a hook, one after the other."""
    head = b'{"session_id":"large","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"content":"'
    body, end = head + b"x" * _LARGE + b'","file_path":"a.py"}}', time.monotonic() + hold_s
    while time.monotonic() < end:
        began = time.monotonic()
        status, answer = await world.http.insist("POST", "/hooks/claude-code?event=PreToolUse", body)
        seen = world.load.seen
        seen.calls += 1
        seen.slowest_s = max(seen.slowest_s, time.monotonic() - began)
        if status != 200 or not answer.startswith(b"{"):
            seen.unanswered.append(f"a body of {_LARGE} bytes got {status}")
        await asyncio.sleep(0.05)
    return time.monotonic()


async def hostile_requests(world: World, hold_s: float) -> float:
    """Send the requests of tests/attacks/stall.yaml repeatedly, one after the other; uploads would stay."""
    loop, end = asyncio.get_running_loop(), time.monotonic() + hold_s
    # In a separate process: building megabytes would delay the load itself.
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    for attack in itertools.cycle(one for one in attacks() if one.kind != "stall/upload"):
        if time.monotonic() > end:
            break
        await loop.run_in_executor(pool, _send, attack, world.http.port)
    await asyncio.to_thread(pool.shutdown)
    return time.monotonic()


def _send(attack: Attack, port: int) -> None:
    asyncio.run(send(attack, port, ""))


SCENARIOS: dict[str, Fault] = {
    "nothing broken": nothing,
    "redis killed": redis_killed,
    "redis hung": redis_hung,
    "redis 200 ms slow": redis_slow,
    "postgres killed": postgres_killed,
    "postgres hung": postgres_hung,
    "postgres 200 ms slow": postgres_slow,
    "disk full under redis": disk_full,
    "disk full under postgres": postgres_disk_full,
    "disk full under home": home_disk_full,
    "redis out of memory": redis_told(("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    "redis without scripts": redis_told(
        ("ACL", "SETUSER", "default", "-@scripting"), ("ACL", "SETUSER", "default", "+@all")
    ),
    "redis is a replica": redis_told(("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    "drain killed": drain_killed,
    "drain hung": drain_hung,
    "one worker killed": worker_killed,
    "policies reloaded": policies_reloaded,
    "new sessions": nothing,
    "10 MiB bodies": large_bodies,
    "hostile requests": hostile_requests,
}


async def run(
    world: World, name: str, *, hold_s: float, sessions_per_s: float, calls: int = 4, settle_s: float = RECOVERY_S + 1
) -> Row:
    """Run one scenario: some load, the fault for so long, load until it has settled, then count in SQL."""
    before, late = world.memory(), await world.decided_after(DECIDED_S)
    async with world.load.running(sessions_per_s, calls) as seen:
        await asyncio.sleep(min(1.0, hold_s))
        mended = await SCENARIOS[name](world, hold_s)
        await asyncio.sleep(settle_s)
    world.acknowledged |= seen.ids
    lost = await world.missing(STORED_S)
    return Row(
        name=name,
        seen=seen,
        recovery_s=max(0.0, seen.last_degraded_at - mended),
        lost=lost,
        grown_mib=world.memory() - before,
        late=await world.decided_after(DECIDED_S) - late,
    )


@asynccontextmanager
async def _hung(processes: list[psutil.Process]) -> AsyncIterator[None]:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


async def _slow(proxy: Proxy, hold_s: float) -> float:
    await proxy.delay(_SLOW_S)
    await asyncio.sleep(hold_s)
    await proxy.delay(0)
    return time.monotonic()


async def _full(disk: SmallDisk, hold_s: float) -> float:
    await asyncio.to_thread(disk.fill)
    try:
        await asyncio.sleep(hold_s)
    finally:
        disk.free()
    return time.monotonic()
