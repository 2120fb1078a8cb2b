"""Records on their way from an answer into the stream: queued, masked, bounded, counted."""

import asyncio
import os
import signal

import msgspec
import pytest
from uuid_utils import uuid7

from baton.events.writer import LogWriter
from baton.kernel.redis.bundled import Valkey
from baton.lib.text import masking
from baton.lib.text.masking import WINDOW
from baton.people.users import RowScope
from baton.records.pipeline import store as decisions
from baton.records.pipeline.recorder import Recorder
from baton.records.pipeline.store import Filters
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.kept import LONGEST_PROJECT
from baton.rules.call.record import Record
from baton.rules.call.verdict import RuleHit, Verdict
from baton.shared.caller import Caller
from baton.shared.decided import DecidedCall, Decision, ModeInForce, masked, packed_record
from tests.support.cases import every
from tests.support.records import record, stored, until

pytestmark = pytest.mark.usefixtures("empty_valkey")


async def test_records_wait_for_redis_and_what_does_not_fit_is_counted(make, database, short_folder, monkeypatch):
    valkey = Valkey(short_folder / f"late-{uuid7()}")
    await valkey.start()
    url = valkey.url
    await valkey.stop()
    monkeypatch.setattr("baton.events.writer.QUEUE", 10)
    recorder = make(url)
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
    found, _ = await decisions.find_records(database, "default", Filters(), limit=1)
    assert found[0].command == "export TOKEN=[masked:key-value]"


async def test_what_nothing_takes_at_a_stop_is_appended_by_the_next_server(away, redis, tmp_path, caplog):
    recorder, _ = away
    await recorder.start()
    recorder.put(record())
    await recorder.stop()
    assert "1 entries wait for the next start, 0 are lost" in caplog.text
    next_server = LogWriter(redis.url, tmp_path, most_bytes=1 << 20)
    await next_server.start()
    await next_server.stop()
    assert next_server.counts()["appended"] == 1


def test_a_masked_record_holds_no_secret_and_only_what_can_be_stored():
    secret = "sk-" + "a1" * 12
    dirty = record(
        user="ann\0\ud800",
        session_id="s" * 1_000,
        project=f"https://ann:{secret}@host/app.git",
        command=f"curl -H 'Authorization: Bearer {secret}' " + "x" * 5_000,
        paths=tuple(f"/tmp/{secret}/{n}" for n in range(100)),
    )
    clean = masked(dirty)
    assert secret not in str(clean)
    assert (len(clean.session_id), len(clean.command), len(clean.paths)) == (200, 2_000, 50)
    assert clean.user == "ann\ufffd?"
    assert clean.project == "https://ann:[masked:sk-key]@host/app.git"
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(clean), type=Record) == clean


def test_the_ids_of_sessions_push_nothing_out_of_what_is_remembered():
    before = masking._known.cache_info().misses
    for number in range(1_000):
        packed_record(record(user="remembered", session_id=f"session-{number}", agent_id=f"agent-{number}"))
    assert masking._known.cache_info().misses == before


def decided(**given):
    call = ToolCall(client="codex", session_id="s", tool_name="Write", tool_input=given)
    decision = Decision(
        id=str(uuid7()), verdict=Verdict(), mode=ModeInForce(enabled=False, level="", scope=""), revision="r"
    )
    return DecidedCall(caller=Caller(principal=Principal(user="ann")), call=call, decision=decision)


def refused(user):
    verdict = Verdict(effect="deny", rule="limits/rate", hits=(RuleHit("limits/rate", "deny"),))
    one = decided(file_path="a")
    decision = msgspec.structs.replace(one.decision, verdict=verdict)
    return msgspec.structs.replace(one, decision=decision, caller=Caller(principal=Principal(user=user)))


@pytest.mark.parametrize("ends", ["minute", "stop"])
async def test_a_users_refusals_of_a_minute_are_one_decision_with_a_count(make, database, monkeypatch, ends):
    monkeypatch.setattr("baton.records.pipeline.recorder.MINUTE_S", 0.2 if ends == "minute" else 60)
    both = make()
    await both.start()
    for number in range(100):
        both.recorder.put_refusal(refused("ann" if number % 4 else "bob"))
    if ends == "minute":
        await until(lambda: both.stats()["appended"] == 4)
        both.recorder.put_refusal(refused("ann"))
    await both.stop()
    found, _ = await decisions.find_records(database, "default", Filters(), limit=200)
    counts = sorted((one.user, one.repeats) for one in found)
    assert counts == [("ann", 0)] * (ends == "minute") + [("ann", 74), ("bob", 24)]
    await decisions.add(database, found)
    totals = await decisions.totals(database, "default", RowScope())
    assert totals == {"deny": 100 + (ends == "minute")}, "storing an entry again changes nothing"


async def test_records_that_cannot_be_built_or_packed_are_counted_and_hold_up_nobody(make, database):
    recorder, one = make(), decided(file_path="a.py", content="x")
    await recorder.start()
    recorder.put(record(rules=(7,)))
    recorder.put(msgspec.structs.replace(one, decision=msgspec.structs.replace(one.decision, id="no id")))
    recorder.put(one)
    await recorder.stop()
    found, _ = await decisions.find_records(database, "default", Filters(), limit=9)
    assert recorder.stats()["dropped"] == 2
    assert [(record.id, record.paths) for record in found] == [(one.decision.id, ("a.py",))]


@pytest.fixture
def away(no_database, tmp_path):
    """A recorder without a Redis, which has not begun, and its writer."""
    writer = LogWriter("redis://127.0.0.1:1", tmp_path, most_bytes=1 << 20)
    return Recorder(writer, no_database), writer


async def test_a_queued_record_is_bounded(away):
    recorder, writer = away
    huge = record(command="x" * 10_000_000, paths=("y" * 10_000_000,) * 100, session_id="z" * 10_000_000)
    recorder.put(huge)
    await asyncio.sleep(0)
    assert len(writer._packed[0]) < 200_000


async def test_what_waits_in_memory_is_bounded_in_bytes(away, monkeypatch):
    monkeypatch.setattr("baton.events.writer.QUEUE_BYTES", 10_000)
    recorder, writer = away
    for _ in range(200):
        recorder.put(record(command="x y" * 600))
        await asyncio.sleep(0)
    assert writer._bytes < 13_000
    assert recorder.counts()["dropped"] == 200 - recorder.counts()["queued"] > 100


@every("at", [LONGEST_PROJECT - 8, LONGEST_PROJECT - 26, 0])
def test_a_secret_on_a_path_s_border_is_masked_though_the_path_was_cut_before(at):
    secret = "sk-" + "a1" * 12
    dirty = record(paths=("/" * at + secret + "/" + "z" * (2 * WINDOW),))
    kept = msgspec.msgpack.decode(packed_record(dirty), type=Record)
    assert kept.paths == masked(dirty).paths
    assert secret[:8] not in str(kept.paths)
