import pytest

from baton.events.feed import FEED
from baton.events.redis_streams.outbox import Outbox
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.records.pipeline.stream import GROUP, SET_ASIDE, STREAM, RecordStream


async def contents(stream):
    entries = await stream.take()
    await stream.done([(entry, b"") for entry in entries])
    return [content for _, content in entries]


async def test_records_come_out_once_and_in_order(redis):
    stream = RecordStream(redis)
    await stream.append([b"one", b"two"])
    await stream.append([b"three"])
    assert await stream.length() == 3
    assert await contents(stream) == [b"one", b"two", b"three"]
    assert await contents(stream) == []
    assert await stream.length() == 0
    assert (await redis.call(b"XPENDING", STREAM, GROUP))[0] == 0


async def test_records_and_their_events_leave_in_one_write(redis, monkeypatch):
    stream = RecordStream(redis, with_events=True)
    await stream.append([b"warm"])
    flushes = []
    flush = type(redis._wire).flush
    monkeypatch.setattr(type(redis._wire), "flush", lambda wire: (flushes.append(1), flush(wire)))
    assert await stream.append([b"one", b"two"]) == 3
    assert len(flushes) == 1
    assert await contents(stream) == [b"warm", b"one", b"two"]
    assert [entry.fields[b"e"] for entry in await Outbox(redis).take()] == [b"warm", b"one", b"two"]


async def test_batches_are_bounded(redis):
    stream = RecordStream(redis)
    await stream.append([b"x"] * 201)
    assert [len(await contents(stream)) for _ in range(3)] == [200, 1, 0]


async def test_what_was_taken_and_not_stored_comes_again_at_the_next_start(redis):
    before = RecordStream(redis)
    await before.append([b"x"] * 450)
    for _ in range(3):
        await before.take()
    after = RecordStream(redis)
    after.look_back(idle_ms=0)
    assert [len(await contents(after)) for _ in range(4)] == [200, 200, 50, 0]


async def test_what_another_server_is_just_storing_is_left_to_it(redis):
    one, two = RecordStream(redis), RecordStream(redis)
    await one.append([b"a"])
    taken = await one.take()
    two.look_back()
    assert await contents(two) == []
    await one.done([(entry, b"") for entry in taken])
    assert await one.length() == 0


async def test_an_entry_set_aside_is_out_of_the_way_and_kept(redis):
    stream = RecordStream(redis)
    await stream.append([b"bad", b"good"])
    bad, good = await stream.take()
    await stream.set_aside(bad)
    await stream.done([(good, b"")])
    assert await stream.length() == 0
    assert [fields for _, fields in await redis.call(b"XRANGE", SET_ASIDE, b"-", b"+")] == [[b"r", b"bad"]]


async def test_a_stream_that_redis_lost_is_made_again(redis):
    stream = RecordStream(redis)
    await stream.append([b"one"])
    assert await contents(stream) == [b"one"]
    await redis.call(b"FLUSHALL")
    assert await contents(stream) == []
    await stream.append([b"two"])
    assert await contents(stream) == [b"two"]


async def test_foreign_entries_are_handed_out_too(redis):
    await redis.call(b"XADD", STREAM, b"*", b"something", b"")
    stream = RecordStream(redis)
    assert await contents(stream) == [b""]


async def test_redis_away_is_said_so():
    away = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await away.start()
    with pytest.raises(RedisUnavailable):
        await RecordStream(away).append([b"x"])
    await away.close()


async def test_what_is_stored_twice_is_in_the_feed_once(redis):
    one, two = RecordStream(redis), RecordStream(redis)
    await one.append([b"a", b"b"])
    taken = await one.take()
    two.look_back(idle_ms=0)
    assert await two.take() == taken
    for stream in (one, two):
        await stream.done([(entry, b"" if entry[1] == b"b" else b"fed " + entry[1]) for entry in taken])
    assert await fed(redis) == [b"fed a"]


async def test_what_one_drain_has_stored_of_another_ones_batch_is_in_the_feed_once(redis):
    one, two = RecordStream(redis), RecordStream(redis)
    await one.append([b"a", b"b", b"c"])
    taken = await one.take()
    two.look_back(idle_ms=0)
    assert await two.take() == taken
    await one.done([(taken[1], taken[1][1])])
    await two.done([(entry, entry[1]) for entry in taken])
    assert await fed(redis) == [b"b", b"a", b"c"]
    assert await one.length() == 0
    assert (await redis.call(b"XPENDING", STREAM, GROUP))[0] == 0


async def fed(redis):
    return [fields[1] for _, fields in await redis.call(b"XRANGE", FEED, b"-", b"+")]


async def test_the_feed_is_bounded(redis, monkeypatch):
    monkeypatch.setattr("baton.records.pipeline.stream.FEED_LENGTH", 100)
    stream = RecordStream(redis)
    for _ in range(5):
        await stream.append([b"x"] * 100)
        await stream.done([(entry, b"y") for entry in await stream.take()])
    assert 100 <= await redis.call(b"XLEN", FEED) <= 300
