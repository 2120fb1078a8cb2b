import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime

import msgspec
import pytest
from sqlalchemy import text
from uuid_utils import uuid7

from app.engine.record import Record
from app.engine.verdict import RuleHit
from app.services.drain import Drain
from app.services.recorder import Recorder, masked
from app.settings import Settings
from app.store import decisions
from app.store.decisions import Filters
from app.store.outbox import SET_ASIDE, STREAM, Outbox
from app.store.redis import Redis
from app.store.sql import Database
from app.store.valkey import Valkey


def record(**fields):
    given = {"organisation": "default", "team": "t", "user": "ann", "client": "codex", "event": "PreToolUse"}
    return Record(id=str(uuid7()), at=datetime.now(UTC), **(given | fields))


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def stored(database):
    return sum((await decisions.counts(database, "default", Filters())).values())


class Both:
    """A recorder, and the drain that its server keeps in a process of its own."""

    def __init__(self, settings, url, database):
        self.recorder = Recorder(settings, url, database)
        self.put = self.recorder.put
        self._redis = Redis(url, timeout_s=5)
        self.drain = Drain(Outbox(self._redis), database)

    async def start(self):
        await self._redis.start()
        await self.recorder.start()
        self._task = asyncio.create_task(self.drain.run())

    async def stop(self):
        await self.recorder.stop()
        self.drain.finish()
        await self._task
        await self._redis.close()

    def stats(self):
        return self.recorder.counts() | {"stored": self.drain.stored, "set_aside": self.drain.set_aside}


@pytest.fixture
def make(database, valkey_url, redis):
    def make(url=valkey_url, **settings):
        return Both(Settings(**settings), url, database)

    return make


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


async def test_records_wait_for_redis_and_what_does_not_fit_is_counted(make, database, short_folder):
    valkey = Valkey(short_folder / f"late-{uuid7()}")
    await valkey.start()
    url = valkey.url
    await valkey.stop()
    recorder = make(url, records_queue=10)
    await recorder.start()
    for _ in range(15):
        recorder.put(record())
    assert recorder.stats()["queued"] == 10
    assert recorder.stats()["dropped"] == 5
    await valkey.start()
    await until(lambda: recorder.stats()["stored"] == 10)
    await recorder.stop()
    await valkey.stop()
    assert await stored(database) == 10


async def test_a_hung_redis_delays_nobody_and_loses_nothing(make, database, short_folder):
    valkey = Valkey(short_folder / f"hung-{uuid7()}")
    await valkey.start()
    recorder = make(valkey.url)
    await recorder.start()
    os.kill(valkey.pid, signal.SIGSTOP)
    for _ in range(20):
        recorder.put(record())
    await asyncio.sleep(0.05)
    assert recorder.stats()["appended"] == 0
    os.kill(valkey.pid, signal.SIGCONT)
    await until(lambda: recorder.stats()["stored"] == 20)
    await recorder.stop()
    await valkey.stop()


async def test_stopping_without_redis_stores_what_is_queued_directly(make, database):
    recorder = make("redis://127.0.0.1:1")
    await recorder.start()
    for _ in range(120):
        recorder.put(record(command="export TOKEN=abcdefgh1234"))
    await recorder.stop()
    assert await stored(database) == 120
    found, _ = await decisions.find(database, "default", Filters(), limit=1)
    assert found[0].command == "export TOKEN=[masked:key-value]"


async def test_with_everything_away_the_loss_is_counted(no_database):
    recorder = Recorder(Settings(), "redis://127.0.0.1:1", no_database)
    await recorder.start()
    recorder.put(record())
    await recorder.stop()
    assert recorder.counts()["dropped"] == 1


async def test_records_wait_in_the_stream_while_sqlite_is_locked(valkey_url, redis, sqlite_url, monkeypatch):
    monkeypatch.setattr("app.store.sql.BUSY_S", 0.05)
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
    monkeypatch.setattr("app.store.sql.BUSY_S", 0.05)
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


async def test_a_record_that_cannot_be_packed_is_counted_and_holds_up_nobody(make, database):
    recorder = make()
    await recorder.start()
    recorder.put(record(rules=(7,)))
    recorder.put(record())
    await recorder.stop()
    assert (recorder.stats()["dropped"], await stored(database)) == (1, 1)


SERVER = """
import asyncio, sys
from datetime import UTC, datetime
from uuid_utils import uuid7
from app.engine.record import Record
from app.services.recorder import Recorder
from app.settings import Settings
from app.store.sql import Database
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


def test_a_masked_record_holds_no_secret_and_only_what_can_be_stored():
    secret = "sk-" + "a1" * 12
    dirty = record(
        user="ann\0\ud800",
        session_id="s" * 1_000,
        project=f"https://ann:{secret}@host/app.git",
        command=f"curl -H 'Authorization: Bearer {secret}' " + "x" * 5_000,
        paths=tuple(f"/tmp/{secret}/{n}" for n in range(100)),
        elapsed_us=2**40,
    )
    clean = masked(dirty)
    assert secret not in str(clean)
    assert (len(clean.session_id), len(clean.command), len(clean.paths)) == (200, 2_000, 50)
    assert clean.user == "ann\ufffd?"
    assert clean.project == "https://ann:[masked:url-password]@host/app.git"
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(clean), type=Record) == clean


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "curl -H 'Authorization: Bearer abcdefghijkl'"},
        {"command": "x" * 3_000},
        {"command": "half \ud800"},
        {"user": "ann\0"},
        {"session_id": "s" * 300},
        {"project": "https://ann:secret12@host/app.git"},
        {"paths": ("/tmp/token=abcdefghijkl",)},
        {"paths": ("a",) * 60},
        {"rules": (RuleHit("r" * 300, "deny"),)},
        {"model_injected": "sk-" + "a1" * 12},
        {"elapsed_us": 2**40},
        {},
    ],
)
def test_what_leaves_is_masked_though_most_records_need_no_masking(fields):
    one = record(**fields)
    assert Recorder._pack(one) == msgspec.msgpack.encode(masked(one))


async def test_an_answer_is_kept_for_retries_unless_it_is_too_large(make, redis):
    recorder = make()
    await recorder.start()
    recorder.put(record(), (b"small", b"x" * 65_536))
    recorder.put(record(), (b"large", b"x" * 65_537))
    await recorder.stop()
    assert await redis.call(b"EXISTS", b"small", b"large") == 1


def test_only_so_many_answers_wait_in_memory():
    recorder = Recorder(Settings(), "redis://127.0.0.1:1", Database(Settings(database_url="sqlite:///:memory:")))
    for number in range(1_000):
        recorder.put(record(), (b"%d" % number, b"answer"))
    assert sum(answer is not None for _, answer in recorder._queue) == 500


def test_a_queued_record_is_bounded():
    recorder = Recorder(Settings(), "redis://127.0.0.1:1", Database(Settings(database_url="sqlite:///:memory:")))
    recorder.put(record(command="x" * 10_000_000, paths=("y" * 10_000_000,) * 100, session_id="z" * 10_000_000))
    assert len(msgspec.msgpack.encode(recorder._queue[0][0])) < 200_000


@pytest.fixture(autouse=True)
async def _nothing_left(valkey_url):
    yield
    client = Redis(valkey_url, timeout_s=5)
    await client.start()
    await client.call(b"FLUSHALL")
    await client.close()
