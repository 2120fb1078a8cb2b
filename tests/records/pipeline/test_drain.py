"""Records on their way from the stream into SQL: waiting, killed, unreadable."""

import asyncio
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec
import pytest
from sqlalchemy import text

from baton.events.log import GROUP, LATE, LOG, SET_ASIDE, START, WAITS, Log, unpacked
from baton.events.writer import LogWriter
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.records.pipeline import store as decisions
from baton.records.pipeline.drain_process import DrainProcess
from baton.records.pipeline.store import Filters
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record
from baton.rules.call.verdict import RuleHit
from tests.support.records import Both, record, stored, until

pytestmark = pytest.mark.usefixtures("empty_valkey")


async def test_records_reach_the_database_and_stay_in_the_log(make, database, redis):
    recorder = make()
    await recorder.start()
    for _ in range(333):
        recorder.put(record(rules=(RuleHit("a/b", "deny"),)))
    await recorder.stop()
    assert await stored(database) == 333
    assert (await redis.call(b"XPENDING", LOG, GROUP))[0] == 0
    assert recorder.stats() == {"queued": 0, "dropped": 0, "shed": 0, "appended": 333, "stored": 333, "set_aside": 0}


async def test_records_wait_while_sqlite_is_locked_and_for_the_next_server(valkey_url, redis, sqlite_url, monkeypatch):
    monkeypatch.setattr("baton.kernel.base.driver.BUSY_S", 0.05)
    database = Database(Settings(database_url=sqlite_url))
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    recorder = Both(Settings(), valkey_url, database)
    await recorder.start()
    for _ in range(3):
        recorder.put(record())
    await until(lambda: recorder.stats()["appended"] == 3)
    await recorder.stop()
    assert recorder.stats()["stored"] == 0
    other.execute("ROLLBACK")
    other.close()
    following = Both(Settings(), valkey_url, database)
    await following.start()
    await until(lambda: following.stats()["stored"] == 3)
    await following.stop()
    assert await stored(database) == 3
    await database.close()


@pytest.mark.parametrize("other_dies", [False, True])
async def test_an_outcome_waits_for_its_decision_in_another_drain(make, database, redis, monkeypatch, other_dies):
    monkeypatch.setattr("baton.records.pipeline.drain.TURN_S", 0.01 if other_dies else 60)
    (name, decision, told), other, both, looks = call_of(1), Log(redis), make(), []
    await other.append([decision])
    taken = await other.take()
    await other.append([told])
    look_back = both.drain._log.look_back
    # At its start, a drain claims what is pending.
    both.drain._log.look_back = lambda **given: looks.append(1) or (len(looks) > 1 and look_back(**given))
    await both.start()
    if not other_dies:
        await asyncio.sleep(0.2)
        assert both.stats()["stored"] == 0
        await decisions.add(database, [unpacked(decision)])
        await other.done(taken)
    await until(lambda: both.stats()["stored"] == 1 + other_dies)
    await both.stop()
    assert (await decisions.get(database, "default", name)).outcome == "ran"


@pytest.mark.parametrize("began", [False, True])
@pytest.mark.parametrize("old", [b"baton:log", b"baton:records"])
async def test_entries_under_an_earlier_version_s_keys_are_stored(make, database, redis, monkeypatch, began, old):
    with monkeypatch.context() as earlier:
        earlier.setattr("baton.events.log.LOG", old)
        log = Log(redis)
        log._reader._stream = old
        await log.append([msgspec.msgpack.encode(record()) for _ in range(2 * 201)])
        await log.take()  # its drain was killed
    await redis.call(b"SET", b"baton:place:{s}", b"x", b"EX", 60)
    if began:
        await Log(redis).append([msgspec.msgpack.encode(record())])
    both = make()
    await both.start()
    await until(lambda: both.stats()["stored"] == 2 * 201 + began)
    await both.stop()
    assert await stored(database) == 2 * 201 + began
    assert await redis.call(b"XLEN", LOG) == 2 * 201 + began, "sinks read them"
    assert await redis.call(b"TTL", b"{baton}:place:{s}") > 0
    assert not await redis.call(b"XLEN", old)


class NewerLog(Log):
    """The log of a later version: its servers write `r2`."""

    READS = (b"r2", WAITS)


def drain_of(make, version):
    both = make()
    if version == "new":
        both.drain._log = NewerLog(both._redis)
    return both


def call_of(number):
    at = datetime.now(UTC)
    decision = record(
        at=at,
        session_id="s",
        tool="Bash",
        tool_use_id=f"t{number}",
        effect="allow",
        decision="allow",
        outcome="unknown",
    )
    report = OutcomeReport(
        at=at, organisation="default", user="ann", session_id="s", agent_id="", tool="Bash", tool_use_id=f"t{number}", outcome="ran"
    )  # fmt: skip
    return decision.id, *map(msgspec.msgpack.encode, (decision, report))


@pytest.mark.slow
async def test_an_outcome_that_comes_before_its_decision_is_stored_later(make, database, redis, monkeypatch):
    monkeypatch.setattr("baton.records.pipeline.drain.TRIM_S", 0.05)
    both, log, calls = make(), Log(redis), [call_of(number) for number in range(300)]
    for _, _, report in calls:
        await log.append([report])
    await both.start()
    await until(lambda: both.stats()["stored"] == 300)
    await until(lambda: both.drain.given_up > 100)
    for _, decision, _ in calls:
        await log.append([decision])
    await until(lambda: both.stats()["stored"] == 600)
    await both.stop()
    outcomes = [one.outcome for one in await found(database)]
    assert both.drain.given_up == outcomes.count("unknown") in range(101, 201), "the oldest, of too many"
    assert outcomes.count("ran") == 300 - both.drain.given_up
    assert await log.left(LATE) == []


@pytest.mark.parametrize("call_id", ["t", ""])
async def test_an_outcome_without_a_decision_is_given_up_in_the_end(make, redis, monkeypatch, caplog, call_id):
    monkeypatch.setattr("baton.records.pipeline.drain.TRIM_S", 0.05)
    monkeypatch.setattr("baton.records.pipeline.drain.LATE_S", 0)
    both, report = make(), msgspec.msgpack.decode(call_of(1)[2], type=OutcomeReport)
    await Log(redis).append([msgspec.msgpack.encode(msgspec.structs.replace(report, tool_use_id=call_id))])
    await both.start()
    await until(lambda: (both.stats()["stored"], both.drain.given_up) == (1, 1 if call_id else 0))
    await both.stop()
    assert (await Log(redis).left(LATE), (await Log(redis).lengths())[2]) == ([], both.drain.given_up)
    assert caplog.text.count("have no decision (1 so far)") == both.drain.given_up


@pytest.mark.slow
@pytest.mark.parametrize("drains", [["old", "new"], ["old", "old", "new"], ["new", "old"], ["old"]], ids="-".join)
async def test_old_drains_leave_newer_entries_to_newer_drains(make, database, redis, monkeypatch, drains):
    monkeypatch.setattr("baton.records.pipeline.drain.TRIM_S", 0.2)
    log, wanted, olds = Log(redis), {}, set()
    every = [drain_of(make, version) for version in drains]
    for one in every:
        await one.start()
    for number in range(300):
        # A server of either version decides the call, and one of either version gets its end.
        name, decision, report = call_of(number)
        await log.append([decision], (b"r2", WAITS)[number % 2])
        await log.append([report], (b"r2", WAITS)[number // 2 % 2])
        wanted[name] = "ran"
        olds |= {name} if number % 2 else set()
    if "new" in drains:
        await until(lambda: sum(one.stats()["stored"] for one in every) >= 600)
    else:
        await until(lambda: every[0].stats()["stored"] >= 150)
        assert {one.id for one in await found(database)} == olds
    # A rollback: the last new drain ends after the others, and stores what they left.
    for one in sorted(every, key=lambda one: isinstance(one.drain._log, NewerLog)):
        await one.stop()
    if "new" not in drains:
        assert {one.id: one.outcome for one in await found(database)}.keys() == olds
        upgraded = drain_of(make, "new")
        await upgraded.start()
        await until(lambda: upgraded.stats()["stored"] >= 450)
        await upgraded.stop()
    assert {one.id: one.outcome for one in await found(database)} == wanted
    assert await log.left() == []
    seen = [entry.content.id for entry in await every_entry(log) if isinstance(entry.content, Record)]
    assert set(seen) == set(wanted), "sinks get them after they are stored"


async def found(database):
    rows = []
    cursor = ""
    while True:
        page, cursor = await decisions.find_records(database, "default", Filters(), cursor, limit=200)
        rows += page
        if not cursor:
            return rows


async def every_entry(log):
    entries, place = [], START
    while (page := await log.after(place)).entries:
        entries, place = entries + page.entries, page.place
    return entries


async def test_a_missing_table_is_no_fault_of_the_records(make, database, redis):
    async with database.transaction() as connection:
        await connection.execute(text("ALTER TABLE decisions RENAME TO gone"))
    recorder = make()
    await recorder.start()
    recorder.put(record())
    await until(lambda: recorder.stats()["appended"] == 1)
    await asyncio.sleep(0.2)
    async with database.transaction() as connection:
        await connection.execute(text("ALTER TABLE gone RENAME TO decisions"))
    await until(lambda: recorder.stats()["stored"] == 1)
    await recorder.stop()
    assert await redis.call(b"EXISTS", SET_ASIDE) == 0


async def test_an_unreadable_entry_is_set_aside_and_holds_up_nobody(make, database, redis):
    encode = msgspec.msgpack.encode
    nul = record(command="a\0b")
    huge = msgspec.to_builtins(record()) | {"elapsed_us": 2**40}
    for content in (b"", b"\xc1 garbage", encode({"id": "x"}), encode(nul), encode(huge)):
        await redis.call(b"XADD", LOG, b"*", b"r", content)
    recorder = make()
    await recorder.start()
    recorder.put(record())
    await until(lambda: sum(recorder.stats()[name] for name in ("stored", "set_aside")) == 6)
    await recorder.stop()
    # SQLite can store a NUL, Postgres cannot.
    expected = {"sqlite": (4, 2), "postgresql": (5, 1)}[database.dialect]
    assert (recorder.stats()["set_aside"], recorder.stats()["stored"]) == expected
    assert await redis.call(b"XLEN", SET_ASIDE) == expected[0]


SERVER = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from uuid_utils import uuid7
from baton.rules.call.record import Record
from baton.events.writer import LogWriter
from baton.records.pipeline.recorder import Recorder
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.http.serving.hot_routes import Response, respond
async def main():
    writer, said = LogWriter(sys.argv[1], Path(sys.argv[3]), most_bytes=64 << 20), 0
    recorder = Recorder(writer, Database(Settings(database_url=sys.argv[2])))
    await recorder.start()
    async def send(_):
        print(said, flush=True)
    while True:
        for said in range(said + 1, said + 21):
            recorder.put(Record(id=str(uuid7()), at=datetime.now(UTC), organisation="default", team="t", user="u",
                client="c", event="e"))
        await respond({}, send, Response(b""))
        await asyncio.sleep(0.002)
asyncio.run(main())
"""


@pytest.mark.slow("kills a process that imports all of a server")
@pytest.mark.parametrize("has_redis", [True, False])
async def test_a_killed_server_loses_no_record(make, database, database_url, valkey_url, tmp_path, has_redis):
    url = valkey_url if has_redis else "redis://127.0.0.1:1"
    with subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", SERVER, url, database_url, tmp_path], stdout=subprocess.PIPE, text=True
    ) as server:
        said = 0
        while said < 400:
            said = int(server.stdout.readline())
        server.kill()
        said = max([said, *(int(line) for line in server.stdout.read().split("\n")[:-1])])
    next_server = LogWriter(valkey_url, tmp_path, most_bytes=64 << 20)
    await next_server.start()
    assert await next_server.stop() == []
    recorder = make()
    await recorder.start()
    await recorder.stop()
    assert await stored(database) >= said


@pytest.mark.parametrize("in_time", [True, False])
async def test_a_stop_that_leaves_records_in_the_stream_is_logged(caplog, in_time):
    async def stop(_ask, *, within_s):
        return in_time

    drain = object.__new__(DrainProcess)
    drain._keeper = SimpleNamespace(stop=stop)
    await drain.stop()
    assert [record.levelname for record in caplog.records] == ([] if in_time else ["WARNING"])
