"""Streams: every event once, from any number on, while others append."""

import asyncio

import pytest

from baton.kernel.base.errors import NotFound
from baton.operate import user_data as user_data_store
from tests.support.delegating import ADA, BOB, Runner, World, running, told


class Away:
    url, up = "redis://127.0.0.1:1", False

    def send(self, *_):
        return None


def always():
    return True


async def read(stream, most=None):
    found = []
    async for event in stream:
        found.append(event)
        if most and len(found) == most:
            break
    return found


@pytest.mark.parametrize("after", [0, 5, 12])
async def test_a_job_s_stream_ends_after_its_last_event(world, after):
    runner, job = Runner(world), await world.delegate()
    await runner.tell(await runner.lease(), "a", "b", "c", finish="completed")
    events = await read(world.streams.of_job(job, after, always))
    assert [event.no for event in events] == list(range(after + 1, 13))


@pytest.mark.parametrize("redis_away", [False, True])
async def test_reconnecting_readers_see_each_event_once(world, database, redis, redis_away):
    stop = asyncio.Event()
    reading = World(database, Away() if redis_away else redis)
    listening = asyncio.create_task(reading.notifier.run(stop)) if not redis_away else None
    runner, job = Runner(world), await world.delegate()
    lease = await runner.lease()

    async def append():
        for number in range(60):
            await runner.tell(lease, f"{number}.", first=number + 1)
        await runner.tell(lease, first=61, finish="completed")

    async def follow():
        seen = []
        while not seen or told(seen[-1]) != "completed":
            after = seen[-1].no if seen else 0
            seen += await read(reading.streams.of_job(job, after, always), most=7)
        return seen

    _, *readers = await asyncio.gather(append(), follow(), follow())
    for seen in readers:
        assert [event.no for event in seen] == list(range(1, len(seen) + 1))
        assert "".join(told(event) for event in seen if event.seq) == "".join(f"{n}." for n in range(60))
    stop.set()
    if listening:
        await listening


async def test_a_session_s_stream_has_all_its_jobs_in_one_order(world):
    jobs = [await world.delegate(prompt=str(number)) for number in range(4)]
    other = await world.delegate(session_id="t")
    runner = Runner(world, slots=5)
    leases = [lease for lease in (await runner.poll()).jobs if lease.job.id != other.id]
    stream = world.streams.of_session("default", "ada", "s", 0, always)
    reading = asyncio.create_task(read(stream, most=4 * 9))
    await asyncio.gather(*(runner.tell(lease, "x", finish="completed") for lease in leases))
    events = await reading
    assert {event.job_id for event in events} == {job.id for job in jobs}
    assert [event.session_no for event in events] == list(range(1, 37))
    for job in jobs:
        numbers = [event.no for event in events if event.job_id == job.id]
        assert numbers == sorted(numbers)


async def test_a_stream_without_readers_ends(world):
    job, wanted = await world.delegate(), [True]
    reading = asyncio.create_task(read(world.streams.of_job(job, 0, lambda: wanted[0])))
    while not world.notifier._waiting:  # noqa: ASYNC110 - it tells nobody that it waits
        await asyncio.sleep(0)
    wanted[0] = False
    assert len(await reading) <= 4
    assert not world.notifier._waiting


async def test_a_job_that_is_deleted_ends_its_stream(world, database):
    job = await world.delegate()
    reading = asyncio.create_task(read(world.streams.of_job(job, 2, always)))
    async with database.transaction() as connection:
        deleted = await user_data_store.remove(connection, "default", "ada")
    assert (deleted["jobs"], deleted["job_events"], deleted["session_delegation"]) == (1, 2, 1)
    world.notifier.notify(f"job {job.id}")
    assert await reading == []
    assert await world.found(ADA) == []


async def test_news_of_a_job_come_at_its_next_event_or_its_end(world):
    runner, lease, job = await running(world)
    known = (await world.get(job)).next_no - 1
    assert (await world.jobs.news(ADA, job.id, known - 1, 60)).id == job.id
    assert (await world.jobs.news(ADA, job.id, known, 0)).state == "leased"
    waiting = asyncio.create_task(world.jobs.news(ADA, job.id, known, 60))
    await runner.tell(lease, "a")
    assert (await waiting).next_no - 1 > known
    ending = asyncio.create_task(world.jobs.news(ADA, job.id, 2**31 - 1, 60))
    await runner.tell(lease, "b", first=2)
    await runner.tell(lease, first=3, finish="completed")
    assert (await ending).state == "completed"
    with pytest.raises(NotFound):
        await world.jobs.news(BOB, job.id, 0, 60)
