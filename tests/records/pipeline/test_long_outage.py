"""The database is unavailable for long: records move to disk, and beyond the named limits they are dropped in the named order."""

import asyncio
import sqlite3

import pytest

from baton.events.log import LOG, STORED
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.records.pipeline import store
from baton.records.pipeline.store import Filters
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.verdict import RuleHit
from tests.support.records import Both, counts, record, stored, until

pytestmark = pytest.mark.usefixtures("empty_valkey")
HIT = (RuleHit("a/b", "allow"),)
REFUSED = {"effect": "deny", "decision": "block", "rules": (RuleHit("a/b", "deny"),)}


@pytest.fixture
async def away(valkey_url, redis, sqlite_url, monkeypatch):
    """Yield a recorder on a locked database, with small bounds, and what unlocks it."""
    monkeypatch.setattr("baton.kernel.base.driver.BUSY_S", 0.02)
    monkeypatch.setattr("baton.records.pipeline.drain.FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr("baton.records.pipeline.drain.LONGEST_PAUSE_S", 0.05)
    monkeypatch.setattr("baton.events.writer.LOOK_S", 0.05)
    database = Database(Settings(database_url=sqlite_url))
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    both = Both(Settings(), valkey_url, database)
    monkeypatch.setattr("baton.events.writer.QUEUE", 100_000)
    both.writer._most_bytes = both.drain._most_bytes = 60_000
    both.spool.most = 150_000
    await both.start()
    yield both, database, lambda: other.execute("ROLLBACK")
    await both.stop()
    other.close()
    await database.close()


async def room(both):
    """Wait until the drain has moved to disk what Redis may not hold."""
    async with asyncio.timeout(60):
        while (await both.recorder.stats())["waiting"] > 150:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def appended(both, count):
    await until(lambda: both.stats()["appended"] == count)


async def test_nothing_is_lost_while_redis_and_disk_have_room_and_outcomes_find_their_decisions(away, redis):
    both, database, unlock = away
    # The first third moves to disk, the reports of its calls come when the rest already waits in Redis.
    made = [record(session_id="s", tool="Bash", tool_use_id=f"t{number}", outcome="unknown") for number in range(500)]
    for start in range(0, 500, 50):
        for one in made[start : start + 50]:
            both.put(one)
        await appended(both, start + 50)
        await room(both)
    await until(lambda: both.spool.bytes > 60_000)
    for one in made[:50]:
        both.recorder.put_outcome(
            OutcomeReport(
                at=one.at, organisation="default", user="ann", session_id="s", agent_id="", tool="Bash",
                tool_use_id=one.tool_use_id, outcome="ran",
            )
        )  # fmt: skip
    await appended(both, 550)
    stats = await both.recorder.stats()
    assert stats["spool_mb"] == stats["spool_most_mb"] == 1
    assert stats["waiting"] < 500
    assert stats["dropped"] == 0
    unlock()
    await until(lambda: both.stats()["stored"] >= 550)
    assert await stored(database) == 500
    assert len((await store.find_records(database, "default", Filters(outcome="ran"), limit=200))[0]) == 50
    await until(lambda: both.spool.bytes == 0)
    # What was on disk is in the log again for its readers, marked as stored.
    assert {fields[0] for _, fields in await redis.call(b"XRANGE", LOG, b"-", b"+")} >= {STORED}
    async with asyncio.timeout(60):
        while (await both.recorder.stats())["spool_most_mb"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_beyond_the_limits_records_are_dropped_in_the_named_order_and_counted(away):
    both, database, unlock = away

    async def put(count, **fields):
        """Put records until so many were taken, or some are dropped and the disk is full; return how many were taken."""
        before = both.stats()
        for _ in range(count // 20):
            for _ in range(20):
                both.put(record(**fields))
            await until(lambda: both.stats()["queued"] == 0)
            if both.stats()["shed"] > before["shed"]:
                await until(lambda: both.writer.shedding == 0 or both.spool.bytes > 110_000)
                if both.writer.shedding:
                    break
        return both.stats()["appended"] - before["appended"]

    plain = await put(5_000)
    assert both.stats()["shed"] > 0, "the disk and twice the part of Redis were never full"
    assert both.spool.bytes > 100_000
    # First the calls that no rule matched go; those that a rule allowed are still taken, and refusals.
    assert await put(20) == 0
    allowed = await put(5_000, rules=HIT, effect="allow")
    assert allowed > 20
    assert await put(20, rules=HIT, effect="allow") == 0
    refused = await put(5_000, **REFUSED)
    assert refused > 20
    assert await put(20, **REFUSED) == 0
    dropped = both.stats()["dropped"]
    assert dropped == both.stats()["shed"]
    unlock()
    await until(lambda: both.stats()["stored"] >= plain + allowed + refused)
    found = await counts(database, "default", Filters())
    assert found == {"abstain": plain, "allow": allowed, "deny": refused}
    # When Redis has room again, everything is taken again.
    await until(lambda: both.writer.shedding == 0)
    both.put(record(user="late"))
    await until(lambda: both.stats()["stored"] >= plain + allowed + refused + 1)
    assert both.stats()["dropped"] == dropped
