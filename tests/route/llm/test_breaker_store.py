import asyncio

import pytest

from baton.kernel.redis.client import Redis
from baton.route.llm.breaker_rules import Limits, State, add, opened, totals
from baton.route.llm.breaker_store import BreakerStore

LIMITS = Limits()


@pytest.fixture
def new(redis):
    return lambda name="model": BreakerStore(redis, "acme", name, LIMITS)


@pytest.fixture
async def away():
    redis = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await redis.start()
    yield BreakerStore(redis, "acme", "model", LIMITS)
    await redis.close()


async def test_two_processes_count_together(new):
    one, other = new(), new()
    for number in range(30):
        await (one if number % 2 else other).count(slow=number % 3 == 0, failed=number % 5 == 0)
    kept = await one.read()
    assert totals(kept.buckets) == (30, 10, 6)
    assert not kept.local
    assert kept.now > 1_700_000_000


async def test_redis_counts_as_the_engine_does(new):
    store, buckets = new(), []
    for number in range(250):
        slow, failed = number % 7 == 0, number % 11 == 0
        kept = await store.count(slow=slow, failed=failed)
        buckets = add(buckets, kept.now, slow=slow, failed=failed, limits=LIMITS)
        assert [b[1:] for b in map(tuple_of, kept.buckets)] == [b[1:] for b in map(tuple_of, buckets)]


def tuple_of(bucket):
    return bucket.at, bucket.calls, bucket.slow, bucket.failed


async def test_of_all_who_see_the_same_one_changes_the_state(new):
    stores = [new() for _ in range(8)]
    seen = [await store.count(slow=True, failed=False) for store in stores]
    seen = [await store.read() for store in stores]
    won = await asyncio.gather(
        *(store.swap(kept, opened(0, kept.now, "slow", LIMITS)) for store, kept in zip(stores, seen, strict=True))
    )
    assert won.count(True) == 1
    kept = await stores[0].read()
    assert kept.state.phase == "open"
    assert kept.buckets == []


async def test_a_change_within_a_phase_keeps_the_counts(new):
    store = new()
    kept = await store.count(slow=False, failed=False)
    assert await store.swap(kept, State(passed=1))
    assert totals((await store.read()).buckets) == (1, 0, 0)


async def test_breakers_do_not_share_counts(new):
    await new("model").count(slow=True, failed=True)
    assert (await new("node").read()).buckets == []


async def test_a_deleted_breaker_restarts(new):
    store = new()
    await store.swap(await store.count(slow=True, failed=True), opened(0, 0.0, "slow", LIMITS))
    await store.forget()
    kept = await new().read()
    assert (kept.state, kept.buckets) == (State(), [])


async def test_another_version_s_state_is_ignored(new, redis):
    await redis.call(b"HSET", b"{baton}:breaker:{acme/model}", b"s", b'{"phase": "ajar"}')
    store = new()
    kept = await store.read()
    assert kept.state == State()
    assert await store.swap(kept, opened(0, 0.0, "slow", LIMITS))


async def test_without_redis_the_process_counts_by_itself(away):
    for _ in range(20):
        kept = await away.count(slow=True, failed=False)
    assert totals(kept.buckets) == (20, 20, 0)
    assert kept.local
    assert await away.swap(kept, opened(0, kept.now, "slow", LIMITS))
    assert (await away.read()).state.phase == "open"
    assert not await away.swap(kept, State()), "another call has changed it since"
    await away.forget()
    assert (await away.read()).state == State()


async def test_a_breaker_counts_locally_until_redis_is_back(redis):
    store = BreakerStore(redis, "acme", "model", LIMITS)
    await store.swap(await store.count(slow=True, failed=False), opened(0, 5.0, "slow", LIMITS))
    redis._wire.drop("pulled")
    kept = await store.count(slow=False, failed=False)
    assert (kept.local, kept.state.phase) == (True, "open")
    async with asyncio.timeout(60):
        while not redis.up:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    kept = await store.read()
    assert (kept.local, kept.state.phase, kept.buckets) == (False, "open", [])


async def test_a_change_during_an_outage_does_not_block_the_next(new, away):
    store = new()
    before = await store.count(slow=True, failed=False)
    there, store._redis = store._redis, away._redis
    assert await store.swap(before, opened(0, before.now, "slow", LIMITS))
    assert (store.snapshot.state.phase, store.snapshot.local) == ("open", True)
    store._redis = there
    assert await store.swap(store.snapshot, State(since=before.now))
    assert (await new().read()).state.since == before.now
