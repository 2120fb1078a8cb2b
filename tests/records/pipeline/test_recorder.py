"""Records on their way from an answer into the stream: queued, masked, bounded, counted."""

import asyncio
import os
import signal

import msgspec
import pytest
from uuid_utils import uuid7

from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.engine.call.verdict import RuleHit, Verdict
from baton.kernel.base.caller import Caller
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.redis.bundled import Valkey
from baton.records.pipeline import recorder
from baton.records.pipeline import store as decisions
from baton.records.pipeline.building import DecidedCall
from baton.records.pipeline.decision import Decision, ModeInForce
from baton.records.pipeline.recorder import BATCH, Recorder, masked
from baton.records.pipeline.store import Filters
from tests.support.records import record, stored, until

pytestmark = pytest.mark.usefixtures("empty_valkey")


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


async def test_a_record_that_cannot_be_packed_is_counted_and_holds_up_nobody(make, database):
    recorder = make()
    await recorder.start()
    recorder.put(record(rules=(7,)))
    recorder.put(record())
    await recorder.stop()
    assert (recorder.stats()["dropped"], await stored(database)) == (1, 1)


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
    assert clean.project == "https://ann:[masked:sk-key]@host/app.git"
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(clean), type=Record) == clean


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "curl -H 'Authorization: Bearer abcdefghijkl'"},
        {"command": "x" * 3_000},
        {"command": "half \ud800"},
        {"user": "ann\0"},
        {"session_id": "s" * 300},
        {"session_id": "sk-" + "a1" * 12},
        {"agent_id": "half \ud800"},
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


def test_the_ids_of_sessions_push_nothing_out_of_what_is_remembered():
    before = recorder._fit.cache_info().misses
    for number in range(1_000):
        Recorder._pack(record(user="remembered", session_id=f"session-{number}", agent_id=f"agent-{number}"))
    assert recorder._fit.cache_info().misses == before + 1


def decided(**given):
    call = ToolCall(client="codex", session_id="s", tool_name="Write", tool_input=given)
    decision = Decision(
        id=str(uuid7()), verdict=Verdict(), mode=ModeInForce(enabled=False, level="", scope=""), revision="r"
    )
    return DecidedCall(caller=Caller(principal=Principal(user="ann")), call=call, decision=decision)


def waiting():
    return Recorder(Settings(), "redis://127.0.0.1:1", Database(Settings(database_url="sqlite:///:memory:")))


async def test_the_record_of_a_decided_call_is_built_after_its_answer(make, database):
    recorder = make()
    await recorder.start()
    one = decided(file_path="a.py", content="x")
    recorder.put(one)
    await recorder.stop()
    found, _ = await decisions.find(database, "default", Filters(), limit=1)
    assert (found[0].id, found[0].paths) == (one.decision.id, ("a.py",))


async def test_a_record_that_cannot_be_built_is_counted_and_holds_up_nobody(make, database):
    recorder = make()
    await recorder.start()
    broken = decided()
    recorder.put(msgspec.structs.replace(broken, decision=msgspec.structs.replace(broken.decision, id="no id")))
    recorder.put(decided())
    await recorder.stop()
    assert (recorder.stats()["dropped"], await stored(database)) == (1, 1)


def test_while_many_wait_they_hold_no_contents():
    recorder = waiting()
    for _ in range(120):
        recorder.put(decided(content="x" * 100_000))
    assert recorder.counts()["queued"] == 120
    assert len(recorder._new) < BATCH


def test_a_queued_record_is_bounded():
    recorder = waiting()
    huge = record(command="x" * 10_000_000, paths=("y" * 10_000_000,) * 100, session_id="z" * 10_000_000)
    for _ in range(BATCH):
        recorder.put(huge)
    assert len(msgspec.msgpack.encode(recorder._queue[0][0])) < 200_000
