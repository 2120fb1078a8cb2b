"""The feed of stored decisions: a reader's entries after a place, and reported gaps."""

import asyncio

import msgspec
import pytest

from baton.events import feed
from baton.events.feed import LiveFeed
from baton.events.log import LOG, START
from baton.kernel.redis.client import RedisUnavailable
from baton.records.pipeline.recorder import Counters
from baton.records.review import decision_stream
from baton.records.review.decision_stream import DecisionStreams, FeedReaders
from baton.records.review.decisions import DecisionFilter
from tests.support.records import record, until

pytestmark = pytest.mark.usefixtures("empty_valkey")
ANN = decision_stream.Principal(user="ann", team="t")


async def put(redis, *commands, **fields):
    for command in commands:
        content = msgspec.msgpack.encode(record(command=command, tool="Bash", **fields))
        await redis.call(b"XADD", LOG, b"*", b"r", content)


def commands(page):
    return [entry.content.command for entry in page.entries]


async def read_all(one, place):
    found, lost = [], False
    while True:
        page = await one.after(place)
        lost, place = lost or page.lost, page.place
        if not page.entries:
            return found, lost
        found += commands(page)


async def test_a_reader_gets_what_comes_once_and_in_order(redis):
    one = LiveFeed(redis)
    async with one.follow():
        await until(lambda: one.newest is not None)
        place = one.newest
        await put(redis, "a", "b")
        await until(lambda: one.newest != START)
        await put(redis, "c")
        await until(lambda: len(one._ring) == 3)
        assert await read_all(one, place) == (["a", "b", "c"], False)


@pytest.mark.parametrize("ring", [2, 2_000], ids=["behind the ring", "within the ring"])
async def test_a_reader_who_was_away_goes_on_where_it_was(redis, monkeypatch, ring):
    monkeypatch.setattr(feed, "RING", ring)
    await put(redis, "a")
    one = LiveFeed(redis)
    one._ring = type(one._ring)(maxlen=ring)
    async with one.follow():
        await until(lambda: one.newest is not None)
        place = one.newest
        await put(redis, "b", "c", "d", "e", "f")
        await until(lambda: one._ring and one._ring[-1].content.command == "f")
        assert len(one._ring) == min(ring, 5)
        assert await read_all(one, place) == (["b", "c", "d", "e", "f"], False)
        assert await read_all(one, START) == (["a", "b", "c", "d", "e", "f"], False)


async def test_another_process_goes_on_at_the_same_place(redis):
    await put(redis, "a", "b")
    one, two = LiveFeed(redis), LiveFeed(redis)
    place = (await one.after(START)).entries[0].place
    assert await read_all(two, place) == (["b"], False)


async def test_what_the_feed_no_longer_has_is_said_to_be_lost(redis):
    await put(redis, "a", "b", "c", "d")
    one = LiveFeed(redis)
    place = (await one.after(START)).entries[0].place
    await redis.call(b"XTRIM", LOG, b"MAXLEN", 2)
    assert await read_all(one, place) == (["c", "d"], True)


async def test_a_place_of_the_future_ends_in_a_gap_and_not_in_silence(redis):
    await put(redis, "a")
    one = LiveFeed(redis)
    async with one.follow():
        await until(lambda: one.newest is not None)
        page = await one.after((9_999_999_999_999, 0))
        assert (page.lost, page.place) == (True, one.newest)


async def test_a_redis_that_lost_its_data_is_noticed(redis, monkeypatch):
    monkeypatch.setattr(feed, "RETRY_S", 0.01)
    await put(redis, "a")
    one = LiveFeed(redis)
    async with one.follow():
        await until(lambda: one.newest is not None)
        place, fresh, failed = one.newest, one._fresh, []

        async def fails_once(connection):
            if not failed:
                failed.append(await redis.call(b"DEL", LOG))
                raise RedisUnavailable("away")
            return await fresh(connection)

        monkeypatch.setattr(one, "_fresh", fails_once)
        await until(lambda: one.newest != place)
        page = await one.after(place)
        assert page.lost
        await put(redis, "b")
        await until(lambda: one._ring)
        assert await read_all(one, page.place) == (["b"], False)


async def test_an_entry_of_another_version_holds_up_nobody(redis):
    await redis.call(b"XADD", LOG, b"*", b"r", b"\xc1")
    await put(redis, "a")
    page = await LiveFeed(redis).after(START)
    assert [entry.content and entry.content.command for entry in page.entries] == [None, "a"]


async def test_nothing_is_read_while_nobody_follows(redis):
    one = LiveFeed(redis)
    async with one.follow(), one.follow():
        assert one._reading is not None
    assert (one._reading, one.newest, list(one._ring)) == (None, None, [])


async def next_decisions(batches):
    async with asyncio.timeout(60):
        async for batch in batches:
            if batch.decisions or batch.lost:
                return [msgspec.json.decode(one)["command"] for one in batch.decisions], batch
    return None


async def test_a_stream_shows_what_its_reader_may_see_and_wants(redis):
    streams = DecisionStreams(FeedReaders(LiveFeed(redis), Counters()))
    principal = [ANN]
    batches = streams.follow(ANN, DecisionFilter(tool="Bash"), START, lambda: principal[0])
    await put(redis, "hers")
    await put(redis, "his", user="bob")
    await put(redis, "another organisation's", organisation="other")
    await put(redis, "hers too")
    assert (await next_decisions(batches))[0] == ["hers", "hers too"]
    principal[0] = msgspec.structs.replace(ANN, role="lead")
    await put(redis, "of her team", user="bob")
    assert (await next_decisions(batches))[0] == ["of her team"]
    principal[0] = msgspec.structs.replace(ANN, role="hook")
    assert await next_decisions(batches) is None
    assert streams._readers._open == {}


async def test_a_slow_reader_is_told_of_a_gap_and_goes_on(redis):
    streams = DecisionStreams(FeedReaders(LiveFeed(redis), Counters()))
    await put(redis, "a")
    batches = streams.follow(ANN, DecisionFilter(), START, lambda: ANN)
    assert (await next_decisions(batches))[0] == ["a"]
    await put(redis, *map(str, range(2_500)))
    await until(lambda: streams._readers._feed._ring[-1].content.command == "2499")
    assert len(streams._readers._feed._ring) == 2_000
    await redis.call(b"XTRIM", LOG, b"MAXLEN", 100)
    found, batch = await next_decisions(batches)
    assert batch.lost
    assert streams._readers._counters.stream_gaps == 1
    assert found == [str(number) for number in range(2_400, 2_500)]
    await batches.aclose()


async def test_streams_are_counted_by_user(redis, monkeypatch):
    monkeypatch.setattr(decision_stream, "MOST_OF_A_USER", 1)
    streams = DecisionStreams(FeedReaders(LiveFeed(redis), Counters()))
    streams.admit(ANN)
    batches = streams.follow(ANN, DecisionFilter(), START, lambda: ANN)
    await anext(batches)
    with pytest.raises(decision_stream.RateLimited):
        streams.admit(ANN)
    streams.admit(msgspec.structs.replace(ANN, user="bob"))
    await batches.aclose()
    streams.admit(ANN)
