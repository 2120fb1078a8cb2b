"""Measures delegation in one run: events through server to reader, latency of a chunk and of a cancel, idle runners.

A runner's side is played by plain HTTP, so that only the server is measured. Everything runs on loopback and ends by
itself within two minutes.
"""

import asyncio
import json
import secrets
import statistics
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import uvloop

from bench.server import Started, serving

SECONDS = 8.0
BATCH = 100
CHUNKS = 200
CANCELS = 30
IDLE = 1_000
IDLE_S = 30.0
LIMITS = {"BATON_ADMIN_PER_MINUTE": "0", "BATON_EXPENSIVE_PER_MINUTE": "0", "BATON_RATE_PER_MINUTE": "0"}


class PlayedRunner:
    """A runner that runs nothing: it leases, tells and is told what the measurement needs."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client
        self._id = f"bench-{secrets.token_hex(4)}"
        self._boot = secrets.token_hex(4)
        self._acked: list[str] = []
        self._lease: dict[str, Any] = {}
        self._seq = 0

    async def poll(self, *, slots: int, wait_s: float) -> dict[str, Any]:
        """Poll once; leases are kept, commands acknowledged by the next poll."""
        held = {name: self._lease[name] for name in ("job", "attempt", "token")} if self._lease else None
        body = {
            "boot_id": self._boot, "name": "bench", "slots": slots, "wait_s": wait_s, "providers": ["codex"],
            "workspaces": ["bench"], "active": [held] if held else [], "acked_commands": self._acked,
        }  # fmt: skip
        news = await _json(self._client.post(f"/runners/{self._id}/poll", json=body, timeout=wait_s + 30))
        self._acked = [command["id"] for command in news["commands"]]
        return news

    async def lease(self) -> str:
        """Submit a job and lease it; gives its id."""
        made = await _json(self._client.post("/delegate", json={"user_prompt": "measure"}))
        self._lease, self._seq = {}, 0
        while not self._lease:
            jobs = (await self.poll(slots=1, wait_s=5))["jobs"]
            self._lease = next((one for one in jobs if one["job"] == made["job"]["id"]), {})
        return str(self._lease["job"])

    async def tell(self, texts: list[str], *, state: str = "") -> None:
        """Report chunks, and the end where there is a state."""
        events = []
        for text in texts:
            self._seq += 1
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
            events.append({"seq": self._seq, "type": "session.update", "body": {"update": update}})
        body = {"attempt": self._lease["attempt"], "token": self._lease["token"], "events": events}
        if state:
            body["finish"] = {"state": state}
        await _json(self._client.post(f"/runners/{self._id}/jobs/{self._lease['job']}/events", json=body))


async def _json(answer: Any) -> dict[str, Any]:
    response = await answer
    assert response.is_success, response.text
    return dict(response.json())


async def chunks(client: httpx2.AsyncClient, job: str) -> AsyncIterator[str]:
    """Read a job's stream as a person's client does; gives each chunk's text."""
    async with client.stream("GET", f"/jobs/{job}/events", timeout=60) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data:") and '"delegated_agent"' in line:
                yield json.loads(line[5:])["update"]["content"]["text"]


async def events_per_second(client: httpx2.AsyncClient) -> float:
    """Post full batches one after the other, and count what a reader gets of them by the end."""
    runner = PlayedRunner(client)
    job, seen = await runner.lease(), 0

    async def read() -> None:
        nonlocal seen
        async for _ in chunks(client, job):
            seen += 1

    reading, started, sent = asyncio.create_task(read()), time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        await runner.tell(["x" * 40] * BATCH)
        sent += BATCH
    await runner.tell([], state="completed")
    await reading
    assert seen == sent, f"{sent} were sent and {seen} arrived"
    return seen / (time.perf_counter() - started)


async def chunk_latencies(client: httpx2.AsyncClient) -> list[float]:
    """Post chunks one at a time; the time of each until the reader has it, in ms."""
    runner = PlayedRunner(client)
    arrived: asyncio.Queue[None] = asyncio.Queue()
    job, times = await runner.lease(), []

    async def read() -> None:
        async for _ in chunks(client, job):
            arrived.put_nowait(None)

    reading = asyncio.create_task(read())
    for number in range(CHUNKS + 1):
        started = time.perf_counter()
        await runner.tell([str(number)])
        await arrived.get()
        times.append((time.perf_counter() - started) * 1_000)
    await runner.tell([], state="completed")
    await reading
    return times[1:]


async def cancel_latencies(client: httpx2.AsyncClient) -> list[float]:
    """Cancel jobs; the time of each until the waiting runner has the command, in ms."""
    times = []
    for _ in range(CANCELS):
        runner = PlayedRunner(client)
        job = await runner.lease()
        await runner.tell(["begun"])
        waiting = asyncio.create_task(runner.poll(slots=0, wait_s=20))
        await asyncio.sleep(0.1)
        started = time.perf_counter()
        await _json(client.post(f"/jobs/{job}/cancel"))
        assert (await waiting)["commands"]
        times.append((time.perf_counter() - started) * 1_000)
        await runner.tell([], state="cancelled")
    return times


async def idle_cost(
    client: httpx2.AsyncClient, cpu: Callable[[], float], memory: Callable[[], float]
) -> dict[str, float]:
    """Let many runners wait for jobs; return what of a processor they take, in percent, what of memory, in MiB, and polls."""
    before_memory, polls = memory(), 0

    async def idle(start_s: float) -> None:
        nonlocal polls
        runner = PlayedRunner(client)
        await asyncio.sleep(start_s)
        while True:
            await runner.poll(slots=1, wait_s=20)
            polls += 1

    spread = 20.0
    tasks = [asyncio.create_task(idle(spread * number / IDLE)) for number in range(IDLE)]
    await asyncio.sleep(spread)
    before, polls, started = cpu(), 0, time.perf_counter()
    await asyncio.sleep(IDLE_S)
    took = time.perf_counter() - started
    cost = {"cpu": (cpu() - before) / took * 100, "memory": memory() - before_memory, "polls": polls / took}
    broken = [task.exception() for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not broken, f"{len(broken)} runners fell out, the first by: {broken[0]!r}"
    return cost


async def measure(baton: Started) -> None:
    """Measure everything and print it."""
    tree = [baton.process, *baton.process.children(recursive=True)]

    def cpu() -> float:
        return sum(one.cpu_times().user + one.cpu_times().system for one in tree)

    def memory() -> float:
        return float(sum(one.memory_info().rss for one in tree)) / 2**20

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    headers = {"Authorization": f"Bearer {baton.token}"}
    async with httpx2.AsyncClient(
        base_url=baton.url, headers=headers, limits=limits, timeout=30, trust_env=False
    ) as client:
        print(f"events through server to reader   {await events_per_second(client):>10.0f} /s, batches of {BATCH}")
        _show("a chunk, runner to reader", await chunk_latencies(client))
        _show("a cancel, person to runner", await cancel_latencies(client))
        cost = await idle_cost(client, cpu, memory)
        print(
            f"{IDLE:,} idle runners                {cost['cpu']:>10.1f} % of a processor,"
            f" {cost['memory']:.0f} MiB, {cost['polls']:.0f} polls/s"
        )


def _show(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) * 99 // 100, len(ordered) - 1)]
    print(f"{name:34}{statistics.median(ordered):>10.1f} ms (p50) {p99:>8.1f} ms (p99), {len(ordered)} times")


def main() -> None:
    """Start a server, measure, stop it."""
    with serving(**LIMITS) as baton:
        uvloop.run(measure(baton))


if __name__ == "__main__":
    main()
