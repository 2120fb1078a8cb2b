"""Records on their way from the stream into SQL: waiting, killed, unreadable."""

import asyncio
import sqlite3
import subprocess
import sys

import msgspec
import pytest
from sqlalchemy import text

from baton.engine.call.verdict import RuleHit
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.records.pipeline.stream import SET_ASIDE, STREAM
from tests.support.records import Both, record, stored, until

pytestmark = pytest.mark.usefixtures("empty_valkey")


async def test_records_reach_the_database_and_leave_the_stream(make, database, redis):
    recorder = make()
    await recorder.start()
    for _ in range(333):
        recorder.put(record(rules=(RuleHit("a/b", "deny"),)))
    await until(lambda: recorder.stats()["stored"] == 333)
    await recorder.stop()
    assert await stored(database) == 333
    assert await redis.call(b"XLEN", STREAM) == 0
    assert recorder.stats() == {
        "queued": 0,
        "dropped": 0,
        "shed": 0,
        "appended": 333,
        "stored": 333,
        "set_aside": 0,
    }


async def test_stopping_brings_everything_home(make, database):
    recorder = make()
    await recorder.start()
    for _ in range(1_000):
        recorder.put(record())
    await recorder.stop()
    assert await stored(database) == 1_000


async def test_records_wait_in_the_stream_while_sqlite_is_locked(valkey_url, redis, sqlite_url, monkeypatch):
    monkeypatch.setattr("baton.kernel.base.driver.BUSY_S", 0.05)
    database = Database(Settings(database_url=sqlite_url))
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    recorder = Both(Settings(), valkey_url, database)
    await recorder.start()
    recorder.put(record())
    await until(lambda: recorder.stats()["appended"] == 1)
    await asyncio.sleep(0.2)
    assert recorder.stats()["stored"] == 0
    other.execute("ROLLBACK")
    other.close()
    await until(lambda: recorder.stats()["stored"] == 1)
    await recorder.stop()
    await database.close()


async def test_what_is_left_at_a_stop_is_stored_by_the_next_server(valkey_url, redis, sqlite_url, monkeypatch):
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
    other.execute("ROLLBACK")
    other.close()
    following = Both(Settings(), valkey_url, database)
    await following.start()
    await until(lambda: following.stats()["stored"] == 3)
    await following.stop()
    assert await stored(database) == 3
    await database.close()


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
        await redis.call(b"XADD", STREAM, b"*", b"r", content)
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
from uuid_utils import uuid7
from baton.engine.call.record import Record
from baton.records.pipeline.recorder import Recorder
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
async def main():
    recorder = Recorder(Settings(), sys.argv[1], Database(Settings(database_url=sys.argv[2])))
    await recorder.start()
    said = 0
    while True:
        for _ in range(20):
            recorder.put(Record(id=str(uuid7()), at=datetime.now(UTC), organisation="default", team="t", user="u",
                client="c", event="e"))
        await asyncio.sleep(0.002)
        if recorder.counts()["appended"] > said:
            said = recorder.counts()["appended"]
            print(said, flush=True)
asyncio.run(main())
"""


async def test_a_killed_server_loses_nothing_that_the_stream_had(make, database, database_url, valkey_url):
    with subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", SERVER, valkey_url, database_url], stdout=subprocess.PIPE, text=True
    ) as server:
        said = 0
        while said < 400:
            said = int(server.stdout.readline())
        server.kill()
        said = max([said, *(int(line) for line in server.stdout.read().split("\n")[:-1])])
    recorder = make()
    await recorder.start()
    await recorder.stop()
    assert await stored(database) >= said
