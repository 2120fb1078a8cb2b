"""The log: what the drain takes, what readers get, and what its bounds remove."""

import asyncio
from hashlib import blake2b

import msgspec
import pytest

from baton.events.log import (
    BATCH,
    GROUP,
    LOG,
    SET_ASIDE,
    START,
    STORED,
    WAITS,
    Emission,
    EntrySize,
    Log,
    place_of,
)  # fmt: skip
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record
from tests.support.records import record


async def contents(log):
    entries = await log.take()
    await log.done(entries)
    return [entry.fields.get(b"r", b"") for entry in entries]


async def left(redis):
    return [fields[1] for _, fields in await redis.call(b"XRANGE", LOG, b"-", b"+")]


async def test_entries_are_handed_out_once_and_in_order_and_stay(redis):
    log = Log(redis)
    await log.append([b"one", b"two"])
    await log.append([b"three"])
    assert await log.lengths() == (3, 0, 0)
    assert await contents(log) == [b"one", b"two", b"three"]
    assert await contents(log) == []
    assert await log.lengths() == (0, 0, 0)
    assert await log.length() == 3
    assert (await redis.call(b"XPENDING", LOG, GROUP))[0] == 0


async def test_entries_leave_in_one_write(redis, monkeypatch):
    log, flushes = Log(redis), []
    flush = type(redis._wire).flush
    monkeypatch.setattr(type(redis._wire), "flush", lambda wire: (flushes.append(1), flush(wire)))
    await log.append([b"one", b"two"])
    assert len(flushes) == 1


async def test_batches_are_bounded(redis):
    log = Log(redis)
    await log.append([b"x"] * 201)
    assert [len(await contents(log)) for _ in range(3)] == [200, 1, 0]


async def test_what_was_taken_and_not_stored_comes_again_at_the_next_start(redis):
    before = Log(redis)
    await before.append([b"x"] * 450)
    for _ in range(3):
        await before.take()
    after = Log(redis)
    after.look_back(idle_ms=0)
    assert [len(await contents(after)) for _ in range(4)] == [200, 200, 50, 0]


async def test_what_another_drain_is_just_storing_is_left_to_it(redis):
    one, two = Log(redis), Log(redis)
    await one.append([b"a"])
    taken = await one.take()
    two.look_back()
    assert await contents(two) == []
    await one.done(taken)
    assert await one.lengths() == (0, 0, 0)


async def test_an_entry_set_aside_is_kept(redis):
    log = Log(redis)
    await log.set_aside(b"bad")
    assert await log.lengths() == (0, 1, 0)
    assert [fields for _, fields in await redis.call(b"XRANGE", SET_ASIDE, b"-", b"+")] == [[b"r", b"bad"]]


async def test_a_log_that_redis_lost_is_made_again(redis):
    log = Log(redis)
    await log.append([b"one"])
    assert await contents(log) == [b"one"]
    await redis.call(b"FLUSHALL")
    assert (await log.lengths(), await log.unstored()) == ((0, 0, 0), (0, 1))
    assert await contents(log) == []
    await log.append([b"two"])
    assert await contents(log) == [b"two"]


async def test_entries_of_newer_versions_are_left_unread_and_stall_nobody(redis):
    log = Log(redis)
    await log.append([msgspec.msgpack.encode(record()), b"later"], b"r2")
    assert (await log.after(START, await log.unstored())).entries == [], "no event comes before its decision is stored"
    await log.append([b"ours"])
    entries = await log.take()
    assert log.waiting(entries) == [b"ours"]
    await log.leave([entry for entry in entries if log.is_newer(entry)])
    ours = entries[-1]
    assert await log.is_oldest(ours)
    assert (await log.lengths(), await log.length()) == ((3, 0, 0), 3)
    assert [list(entry.fields) for entry in await log.left()] == [[b"r2"]] * 2
    assert [entry.content for entry in (await log.after(START)).entries] == [None], "of `ours`"


def test_a_change_of_what_is_stored_is_a_new_version():
    kinds = [
        [(one.name, str(one.type)) for one in msgspec.inspect.type_info(kind).fields]
        for kind in (Record, Emission, OutcomeReport)
    ]
    layout = blake2b(msgspec.json.encode(kinds), digest_size=8).hexdigest()
    told = "a released version may meet these entries: give `WAITS` a new name, and `Log.READS` the one before too"
    assert (WAITS, layout) == (b"r", "9abea8c71abfdd86"), told


@pytest.mark.parametrize("begun", [[], [b"new"]])
async def test_what_an_earlier_version_left_is_moved_once(redis, begun):
    log = Log(redis)
    await log.append(begun)
    await redis.pipeline([(b"XADD", b"baton:records", b"*", WAITS, b"old"), (b"SET", b"baton:x", b"1")])
    await log.adopt()
    await log.adopt()
    assert await left(redis) == [*begun, b"old"]
    assert await redis.call(b"MGET", b"{baton}:x", b"baton:x") == [b"1", None]


async def test_redis_away_is_said_so():
    away = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await away.start()
    with pytest.raises(RedisUnavailable):
        await Log(away).append([b"x"])
    await away.close()


async def test_the_first_unstored_entry_is_the_oldest_that_any_drain_has_not_acknowledged(redis):
    one, two = Log(redis), Log(redis)
    await one.append([b"a"] * BATCH)
    assert await one.unstored() == (0, 1)
    first = await one.take()
    await two.append([b"b"] * 3)
    second = await two.take()
    await two.done(second)
    assert await one.unstored() == place_of(first[0].id)
    await one.done(first[:100])
    assert await one.unstored() == place_of(first[100].id)
    await one.done(first[100:])
    assert place_of(second[-1].id) < await one.unstored()


async def test_waiting_entries_are_counted_though_some_were_deleted(redis):
    log = Log(redis)
    await log.append([b"a", b"b", b"c"])
    await log.done((await log.take())[:1])
    assert await log.lengths() == (2, 0, 0)
    await log.append([b"d"])
    await log.remove([await log.newest()])
    assert (await log.lengths())[0] >= 2


@pytest.mark.parametrize(
    ("taken", "acknowledged", "remaining"),
    [(10, 10, 3), (10, 9, 3), (10, 4, 6), (5, 5, 5), (0, 0, 10)],
    ids=["all stored", "the newest pending", "an older one pending", "half not delivered", "nothing stored"],
)
@pytest.mark.parametrize(("most", "age_s"), [(3, 3_600), (1_000, 0)], ids=["bytes", "age"])
async def test_only_stored_entries_are_trimmed(redis, monkeypatch, taken, acknowledged, remaining, most, age_s):
    log = Log(redis)
    numbers = [b"%d" % number for number in range(10)]
    await log.append(numbers[: taken or 10])
    if taken:
        await log.done((await log.take())[:acknowledged])
        await log.append(numbers[taken:]) if taken < 10 else None
    await asyncio.sleep(0.01)
    await log.trim(most, age_s)
    # By age all stored ones go, but the newest entry of all stays: a reader there has missed nothing.
    expected = remaining if most == 3 else max(10 - (acknowledged if taken else 0), 1)
    assert await left(redis) == numbers[-expected:]


async def test_a_large_excess_is_trimmed_in_steps(redis, monkeypatch):
    monkeypatch.setattr("baton.events.log.LARGEST_TRIM", 4)
    log = Log(redis)
    await log.append([b"x"] * 10)
    await contents(log)
    found = []
    for _ in range(3):
        await log.trim(2, 3_600)
        found.append(await log.length())
    assert found == [6, 2, 2]


async def test_a_reader_behind_the_first_entry_has_lost_something(redis):
    log = Log(redis)
    await log.append([b"\xc1", b"\xc1", b"\xc1", b"\xc1"])
    await contents(log)
    places = [entry.place for entry in (await log.after(START)).entries]
    await log.trim(2, 3_600)
    lost = [(await log.after(place)).lost for place in (START, *places)]
    assert lost == [False, True, True, False, False]
    assert (await log.after((9_999_999_999_999, 0))).place == places[-1]


async def test_readers_get_entries_up_to_the_first_unstored_one_without_their_prompts(redis):
    log = Log(redis)
    packed = [msgspec.msgpack.encode(record(command=one, prompt="the prompt")) for one in "ab"]
    await log.append(packed[:1])
    await contents(log)
    await log.append(packed[1:], STORED)
    (only,) = (await log.after(START, await log.unstored())).entries
    assert (only.content.command, only.content.prompt, only.is_late) == ("a", "", False)
    both = (await log.after(START)).entries
    assert [entry.is_late for entry in both] == [False, True]


def test_the_mean_size_follows_what_is_appended():
    size = EntrySize()
    for _ in range(100):
        size.note([b"x" * 1_000])
    assert 1_040 < size.mean <= 1_048
