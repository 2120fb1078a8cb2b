"""The sweeper: its turns, and no job delaying another. `test_runners` covers its effect on jobs."""

from datetime import UTC, datetime, timedelta

from baton.delegate.runners.sweeper import LEADERSHIP, PERIOD
from baton.kernel.changes import announce
from tests.support.delegating import Runner, report, running

PAST = datetime(2020, 1, 1, tzinfo=UTC)


async def test_one_turn_is_taken_in_a_period(world, monkeypatch):
    await running(world)
    now, taken = datetime.now(UTC), []

    async def sweep():
        taken.append(1)

    monkeypatch.setattr(world.sweeper, "sweep", sweep)
    for after in (timedelta(0), PERIOD / 4, timedelta(hours=-1), PERIOD):  # an hour: another machine's clock is ahead
        await world.sweeper.take_turn(now + after)
    assert len(taken) == 2


async def test_one_failing_job_delays_no_other(world, caplog):
    runner = Runner(world, slots=2)
    broken, other = await world.delegate(), await world.delegate()
    for lease in (await runner.poll()).jobs:
        await report(world, lease, [1])

    async def hook(_connection, job):
        if job.id == broken.id:
            raise ValueError("its graph cannot be read")

    world.jobs.on_end(hook)
    await world.change(broken, lease_until=PAST)
    await world.change(other, lease_until=PAST + timedelta(days=1))
    await world.sweeper.sweep()
    assert [await world.state(job) for job in (broken, other)] == ["running", "failed"]
    assert f"job {broken.id} could not be swept" in caplog.text


async def test_a_blocked_job_is_written_only_when_it_may_go_on(world, monkeypatch):
    runner, lease, first = await running(world)
    second = await world.delegate()
    waits = await world.delegate(depends_on=(first.id, second.id))
    advanced, states = [], world.sweeper._states

    async def advance(job_id):
        advanced.append(job_id)

    await runner.tell(lease, finish="completed")
    monkeypatch.setattr(states, "advance", advance)
    await world.sweeper.sweep()
    assert (await world.state(waits), advanced) == ("blocked", [])
    await runner.tell(await runner.lease(), finish="completed")
    advanced.clear()
    await world.sweeper.sweep()
    assert advanced == [waits.id]


async def test_a_server_without_open_jobs_writes_nothing(world):
    await world.delegate(queue_expiry_s=0)  # that one is queued without a limit is nothing to look after
    await world.sweeper.take_turn(datetime.now(UTC))
    async with world.database.transaction() as connection:
        assert await announce.until(connection, "default", LEADERSHIP) is None
