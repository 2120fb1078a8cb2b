"""Measures a store with a million decisions.

Run `python -m bench.scale [--rows 1000000] [--days 90] [--on sqlite,postgres]`. Prints the time of every list and
filter, of the counts of `/status`, of analytics, of replay and of retention, and each as a ratio to the first page
without a filter. Databases are in a temporary folder and are deleted.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from baton.kernel.base.clock import Bucket
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, database_url, driver_target
from baton.operate import costs as costs_store
from baton.operate import migrate, retention
from baton.operate import retention as retention_store
from baton.people.users import RowScope
from baton.policies.in_force import Combinations, Policies
from baton.records import latency
from baton.records.columns.reading import Period
from baton.records.columns.writer import ColumnWriter
from baton.records.latency import LatencyBucket
from baton.records.pipeline import store
from baton.records.pipeline.store import Filters
from baton.records.replay import rule_hits_store
from baton.records.replay.service import Replay, Summary
from baton.records.review import decision_counts as decision_counts_store
from baton.records.review.decision_counts import CountGroup
from baton.records.review.delegation_share import store as delegation_share_store
from baton.records.review.delegation_share.groups import By, GroupFilter
from baton.rules.call.call import Principal
from baton.shared import packaged
from bench.scale.fill import END, fill
from tests.support.postgres import Postgres
from tests.support.records import record

ROUNDS = 5
REPLAYED = 3_000
STORED = 40
"""Batches stored, and removed, to measure their mutual waiting."""
COUNTED: tuple[tuple[Bucket, CountGroup, dict[str, Any]], ...] = (
    ("minute", "effect", {}), ("hour", "effect", {}), ("hour", "user", {}), ("day", "effect", {}), ("day", "user", {}),
    ("day", "rule", {}), ("day", "outcome", {"user": "person-3"}), ("day", "user", {"effect": "deny"}),
    ("day", "effect", {"tool": "Bash"}), ("day", "user", {"tool": "Bash", "outcome": "ran", "overridden": False}),
    ("day", "rule", {"project": "/home/dev/project-3", "client": "codex"}), ("day", "client", {"rule": "team/rule-0"}),
    ("day", "effect", {"agent_id": "agent-17"}), ("day", "user", {"revision": "5f2c1d", "decision": "allow"}),
    ("day", "effect", {"scope": RowScope(user="person-7", team="team-7"), "event": "PreToolUse"}),
    ("day", "effect", {"q": "pytest"}),
)  # fmt: skip
LONGEST = {"minute": 1, "hour": 31, "day": 366}
"""Days counted by a bucket."""
LATENCY_BY: tuple[LatencyBucket, ...] = ("hour", "day")
BY: tuple[By, ...] = ("session", "user", "team", "day")
ALL, OWN, TEAM = RowScope(), RowScope(user="person-7"), RowScope(user="person-7", team="team-7")
Work = Callable[[], Awaitable[object]]


@contextmanager
def databases(names: list[str]) -> Iterator[dict[str, Settings]]:
    """Make empty databases of these kinds."""
    with tempfile.TemporaryDirectory(prefix="baton-scale-", dir="/tmp") as folder:
        place = Path(folder)
        place.chmod(0o755)
        found = {}
        server = None
        if "sqlite" in names:
            found["sqlite"] = Settings(home=place, database_url=f"sqlite:///{place}/scale.db")
        if "postgres" in names:
            server = Postgres(place).make()
            server.sql("CREATE DATABASE scale")
            found["postgres"] = Settings(home=place, database_url=server.url("scale"))
        try:
            yield found
        finally:
            if server is not None:
                server.stop()


def lists() -> dict[str, Filters]:
    """Return every filter of decisions, alone and with each scope, and very selective pairs."""
    when = END - timedelta(days=30)
    alone: dict[str, Any] = {
        "user": "person-3", "session_id": "nobody", "agent_id": "agent-17", "client": "gemini", "event": "UserPromptSubmit",
        "tool": "NotebookEdit", "effect": "deny", "decision": "block", "outcome": "ran_anyway", "rule": "team/rule-7",
        "project": "/home/dev/project-3", "overridden": True,
    }  # fmt: skip
    never: dict[str, Any] = {
        "agent_type": "none",
        "revision": "none",
        "q": "nowhere to be found",
        "client": "none",
        "event": "None",
        "tool": "None",
        "rule": "none/none",
        "agent_id": "none",
        "project": "none",
    }
    found = {"no filter": Filters()}
    found |= {f"{name} = {value}": Filters(**{name: value}) for name, value in alone.items()}
    found |= {f"{name} that never was": Filters(**{name: value}) for name, value in never.items()}
    found |= {
        "usual: tool = Bash": Filters(tool="Bash"), "usual: effect = abstain": Filters(effect="abstain"),
        "usual: outcome = ran": Filters(outcome="ran"), "not overridden": Filters(overridden=False),
        "one old day": Filters(since=when, until=when + timedelta(days=1)),
        "one old hour, effect = deny": Filters(since=when, until=when + timedelta(hours=1), effect="deny"),
        "own": Filters(scope=OWN), "own, rule": Filters(scope=OWN, rule="team/rule-7"),
        "own, effect = deny": Filters(scope=OWN, effect="deny"), "team": Filters(scope=TEAM),
        "team, rule": Filters(scope=TEAM, rule="team/rule-7"), "team, overridden": Filters(scope=TEAM, overridden=True),
        "team, user of another": Filters(scope=TEAM, user="person-6"),
        "tool and rare outcome": Filters(tool="Bash", outcome="ran_anyway"),
        "user, rule and overridden": Filters(user="person-3", rule="team/rule-0", overridden=True),
        "two usual that never meet": Filters(effect="deny", outcome="ran"),
        "client and user that never meet": Filters(client="codex", user="person-3"),
    }  # fmt: skip
    return found


async def timed(work: Work) -> tuple[float, float]:
    """Return the medians of some runs, in ms: of wall time, and of this process's CPU time; the first one warms up."""
    took, cpu = [], []
    for _ in range(ROUNDS + 1):
        started, before = time.perf_counter(), time.process_time()
        await work()
        took.append((time.perf_counter() - started) * 1000)
        cpu.append((time.process_time() - before) * 1000)
    return statistics.median(took[1:]), statistics.median(cpu[1:])


async def measure(settings: Settings) -> None:
    """Measure one filled database."""
    database = Database(settings)
    unit = 0.0
    print(f"{'':42}{'ms':>10}{'CPU ms':>10}{'× plain':>10}")

    async def row(name: str, work: Work) -> None:
        nonlocal unit
        took, cpu = await timed(work)
        unit = unit or took
        print(f"{name:42}{took:10.1f}{cpu:10.1f}{took / unit:10.1f}", flush=True)

    await _write_columns(database)  # rare filters read them
    for name, wanted in lists().items():
        await row(name, partial(store.find_records, database, "default", wanted))
    await row("counts of /status: all", partial(store.totals, database, "default", ALL))
    await row("counts of /status: team", partial(store.totals, database, "default", TEAM))
    live = GroupFilter(since=END - timedelta(days=7), called_since=END - timedelta(minutes=10))
    sessions: dict[str, GroupFilter] = {
        "sessions": GroupFilter(since=END - timedelta(days=7)), "sessions: live": live,
        "sessions: text": GroupFilter(since=END - timedelta(days=7), q="project-3"),
        "sessions: one": GroupFilter(since=END - timedelta(days=30), session_id="nobody"),
    }  # fmt: skip
    for name, filtered in sessions.items():
        work = partial(
            delegation_share_store.find_groups, database, "default", ALL, filtered, "session", agent_tools=["Task"]
        )
        await row(name, work)
    week, whole = END - timedelta(days=7), END - timedelta(days=366)
    for since, span in ((week, "7 days"), (whole, "all days")):
        for by in BY:
            asked = GroupFilter(since=since)
            work = partial(
                delegation_share_store.find_groups, database, "default", ALL, asked, by, agent_tools=["Task", "Agent"]
            )
            await row(f"delegation by {by}, {span}", work)
        costs = costs_store.CostFilter(since=since)
        await row(f"cost by user, {span}", partial(costs_store.of_calls, database, "default", ALL, costs, "user"))
        period = Period(since, END)
        await row(f"rule hits, {span}", partial(rule_hits_store.hits, database, "default", ALL, period))
        for latency_by in LATENCY_BY:
            asked_of = Period(max(since, END - timedelta(days=LONGEST[latency_by])), END)
            latencies = partial(latency.find_counts, database, "default", ALL, asked_of, latency_by)
            await row(f"latency by {latency_by}, {span}", latencies)
        of_user = partial(latency.find_counts, database, "default", ALL, Period(since, END), "day", user="person-3")
        await row(f"latency of a user, {span}", of_user)
    for bucket, group, filters in COUNTED:
        wanted = Filters(since=END - timedelta(days=LONGEST[bucket]), until=END, **filters)
        name = ", ".join([f"counts by {bucket} and {group}", *filters])
        await row(name, partial(decision_counts_store.counts, database, "default", wanted, bucket, group))
    await _replay(settings, database)
    await _retention(database)
    await database.close()


async def _write_columns(database: Database) -> None:
    """Write the columns of all hours and days, and print a writer's longest wait for one of them."""
    writer = ColumnWriter(database, "default")
    for unit, missing, write in (
        ("hour", writer.missing, writer.write_hour),
        ("day", writer.missing_days, writer.write_day),
    ):
        longest, written = 0.0, 0
        begun, cpu = time.perf_counter(), time.process_time()
        for number in await missing():
            started = time.perf_counter()
            await write(number)
            longest, written = max(longest, time.perf_counter() - started), written + 1
        took, cpu = time.perf_counter() - begun, time.process_time() - cpu
        name = f"columns: slowest {unit}"
        print(f"{name:42}{longest * 1000:10.1f}   ({written} {unit}s in {took:.1f} s, {cpu:.1f} s of CPU)")


async def _replay(settings: Settings, database: Database) -> None:
    policies = Policies(packaged.folder("policies"), settings.home / "policies", database, "default")
    replay, admin = Replay(database, policies), Principal(organisation="default", user="root", role="admin")
    candidate: Combinations = policies.combinations()
    started, before = time.perf_counter(), time.process_time()
    async for one in replay.run(admin, candidate, Period(END - timedelta(days=30), END), REPLAYED):
        if isinstance(one.summary, Summary):
            took, cpu = time.perf_counter() - started, time.process_time() - before
            print(
                f"{'replay, calls/s':42}{one.summary.read / took:10.0f}   ({cpu / one.summary.read * 1e6:.0f} µs of CPU a call)"
            )


async def _retention(database: Database) -> None:
    """Print the longest time of storing a batch of new decisions, alone and while retention removes a day's."""
    alone = [await _stored(database) for _ in range(STORED)]
    removing = asyncio.create_task(_remove(database))
    beside = []
    while not removing.done():
        beside.append(await _stored(database))
    removed, slowest = await removing
    print(f"{'storing: slowest batch':42}{max(alone) * 1000:10.1f}   (median {statistics.median(alone) * 1000:.1f})")
    print(
        f"{'storing beside retention: slowest batch':42}{max(beside) * 1000:10.1f}"
        f"   (median {statistics.median(beside) * 1000:.1f})"
    )
    print(f"{'retention: slowest batch':42}{slowest * 1000:10.1f}   ({removed} rows)")


async def _stored(database: Database) -> float:
    """Store a batch of decisions like the drain under some load, and return its time, in seconds."""
    await asyncio.sleep(retention.PAUSE_S / 2)
    records = [record(at=datetime.now(UTC)) for _ in range(50)]
    started = time.perf_counter()
    await store.add(database, records)
    return time.perf_counter() - started


async def _remove(database: Database) -> tuple[int, float]:
    """Remove the oldest decisions as retention does; return their number, and the slowest batch's time, in seconds."""
    before, removed, slowest = END - timedelta(days=89), 0, 0.0
    for _ in range(STORED):
        started = time.perf_counter()
        removed += await retention_store.purge_decisions(database, "default", before)
        slowest = max(slowest, time.perf_counter() - started)
        await asyncio.sleep(retention.PAUSE_S)
    return removed, slowest


def main() -> None:
    """Fill and measure each database in turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--on", default="sqlite,postgres")
    asked = parser.parse_args()
    with databases(asked.on.split(",")) as found:
        for name, settings in found.items():
            started = time.perf_counter()
            asyncio.run(migrate.upgrade(settings))
            fill(driver_target(database_url(settings)), asked.rows, asked.days)
            print(
                f"\n{name}: {asked.rows} decisions of {asked.days} days, filled in {time.perf_counter() - started:.0f} s"
            )
            asyncio.run(measure(settings))


if __name__ == "__main__":
    main()
