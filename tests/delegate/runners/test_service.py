"""Leases: given once, fenced, renewed, lost, taken back. Runners' reports in any number and order."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from baton.delegate.runners.service import LeaseClaim, Poll
from baton.kernel.base.errors import Forbidden, LeaseLost
from baton.rules.call.call import Principal
from tests.support.delegating import ADA, Runner, World, chunks, claim, report, running, stays

PAST = datetime(2020, 1, 1, tzinfo=UTC)


async def test_a_lost_lease_fails_a_job_that_may_not_be_repeated(world):
    runner, lease, job = await running(world)
    await report(world, lease, [1])
    await world.sweeper.sweep()
    assert await world.state(job) == "running"
    await world.change(job, lease_until=PAST)
    await world.sweeper.sweep()
    failed = await world.get(job)
    assert (failed.state, failed.error_code, await world.mode()) == ("failed", "runner_lost", "default_mode")
    with pytest.raises(LeaseLost):
        await report(world, lease, [2], finish="completed")
    assert (await world.get(job)).late_result["state"] == "completed"
    assert await chunks(world, job) == ["1"]
    assert (await runner.poll()).lost == [job.id]


async def test_a_lost_lease_is_renewed_if_harmless(world):
    zombie, first, job = await running(world, isolation="worktree", max_attempts=2)
    await report(world, first, [1])
    await world.change(job, lease_until=PAST)
    await world.sweeper.sweep()
    assert (await world.state(job), await world.mode()) == ("queued", "default_mode")
    second = await Runner(world, name="desk", boot="b2").lease()
    assert (second.job.attempt, await world.mode()) == (2, "codex")
    with pytest.raises(LeaseLost):
        await report(world, first, [2])
    await report(world, second, [1], runner="desk")
    assert await chunks(world, job) == ["1", "1"]
    assert (await zombie.poll(slots=0)).lost == [job.id]
    await world.change(job, lease_until=PAST)
    await world.sweeper.sweep()
    assert (await world.get(job)).error_code == "runner_lost"


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
async def test_a_job_ended_before_its_poll_arrives_is_not_lost(world, end):
    runner, lease, job = await running(world)
    await report(world, lease, [1], finish=end)
    assert (await runner.poll()).lost == []  # it lists the job still
    poll = Poll(boot_id="b1", slots=0, wait_s=0, active=(claim(lease, token="of nobody"),))
    assert (await world.runners.poll(ADA, "laptop", poll, stays)).lost == [job.id]


async def test_a_runner_is_not_lost_because_no_server_was_up_to_hear_it(world):
    _, lease, job = await running(world)
    await report(world, lease, [1])
    now = datetime.now(UTC)
    await world.sweeper.take_turn(now - timedelta(minutes=5))
    await world.change(job, lease_until=now - timedelta(minutes=4))
    await world.sweeper.take_turn(now)
    assert await world.state(job) == "running"
    assert (await world.get(job)).lease_until > now
    await world.change(job, lease_until=now - timedelta(seconds=1))
    await world.sweeper.take_turn(now + timedelta(seconds=1))
    assert await world.state(job) == "running"  # another one's turn is not over
    await world.sweeper.take_turn(now + timedelta(seconds=3))
    assert await world.state(job) == "failed"


async def test_a_cancelled_job_of_a_lost_runner_is_cancelled(world):
    _, lease, job = await running(world)
    await report(world, lease, [1])
    await world.control.cancel(ADA, job.id)
    await world.change(job, lease_until=PAST)
    await world.sweeper.sweep()
    assert await world.state(job) == "cancelled"


async def test_a_poll_renews_proven_leases_only(world):
    _, lease, job = await running(world)
    await world.change(job, lease_until=PAST)
    wrong = Poll(boot_id="b1", slots=0, wait_s=0, active=(LeaseClaim(job=job.id, attempt=1, token="no"),))

    assert (await world.runners.poll(ADA, "laptop", wrong, stays)).lost == [job.id]
    with pytest.raises(LeaseLost):
        await report(world, lease, [1])
    assert await world.state(job) == "queued"  # it was leased, and never seen by its runner
    lease = await Runner(world, name="desk").lease()
    await world.change(job, lease_until=PAST)
    desk = Runner(world, name="desk")
    desk.held = {job.id: lease}
    assert (await desk.poll()).lost == []
    assert (await world.get(job)).lease_until > datetime.now(UTC) + timedelta(seconds=30)


async def test_a_lease_that_never_arrived_is_no_attempt(world):
    runner, lost, job = await running(world)
    runner.held.clear()
    lease = await runner.lease()
    assert (lease.job.id, lease.job.attempt) == (job.id, 1)
    assert lease.token != lost.token
    with pytest.raises(LeaseLost):
        await report(world, lost, [1])
    await report(world, lease, [1], finish="completed")
    assert await world.state(job) == "completed"


@pytest.mark.parametrize("boot", ["b1", "b0"], ids=["of this process", "of the one before"])
async def test_a_late_poll_revokes_no_newer_lease(world, boot):
    _, lease, job = await running(world)
    poll = Poll(boot_id=boot, slots=0, wait_s=0)

    async def left():
        return True

    await world.runners.poll(ADA, "laptop", poll, left)
    before_the_lease = asyncio.get_running_loop().time() - 60
    await world.runners.poll(ADA, "laptop", poll, stays, arrived=before_the_lease)
    assert await world.state(job) == "leased"
    await report(world, lease, [1], finish="completed")
    assert await world.state(job) == "completed"


@pytest.mark.parametrize("kept_url", ["postgres"], indirect=True)  # SQLite has one writer at a time
async def test_a_job_that_one_transaction_changes_is_read_by_the_next_one_after_it(world):
    job, states = await world.delegate(), world.sweeper._states

    async def read():
        async with states.transaction() as transaction:
            return (await states.lock(transaction, job.id)).state

    async with states.transaction() as transaction:
        locked = await states.lock(transaction, job.id)
        reading = asyncio.create_task(read())
        async with asyncio.timeout(60):
            while not reading.done() and not await someone_waits(world.database):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await states.end(transaction, locked, "cancelled")
    assert await reading == "cancelled"


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def someone_waits(database):
    """Return whether a transaction waits for a lock that another one holds."""
    async with database.transaction() as connection:
        return (await connection.execute(text(WAITING))).scalar() > 0


async def test_a_restarted_runner_keeps_its_listed_jobs_only(world):
    runner = Runner(world, slots=2)
    jobs = [await world.delegate(prompt=prompt) for prompt in ("kept", "lost")]
    kept, lost = (await runner.poll()).jobs
    for lease in (kept, lost):
        await report(world, lease, [1])
    again = Runner(world, boot="b2", slots=0)
    again.held = {kept.job.id: kept}
    assert (await again.poll()).lost == []
    assert [await world.state(job) for job in jobs] == ["running", "failed"]
    await report(world, kept, [2], finish="completed")
    assert await world.state(jobs[0]) == "completed"


async def test_a_job_has_its_time(world):
    runner, lease, job = await running(world, timeout_s=30)
    await report(world, lease, [1])
    assert (await world.get(job)).deadline - datetime.now(UTC) < timedelta(seconds=46)
    await world.change(job, deadline=PAST)
    await world.sweeper.sweep()
    ended = await world.get(job)
    assert (ended.state, ended.error_code) == ("failed", "timeout")
    assert "30 s" in ended.error_detail
    news = await runner.poll()
    assert ([command.kind for command in news.commands], news.lost) == (["cancel"], [job.id])


async def test_a_poll_waits_for_a_job(world):
    polling = asyncio.create_task(Runner(world).poll(wait_s=20))
    while not (await world.runners.visible(ADA)):  # noqa: ASYNC110 - SQL has no event
        await asyncio.sleep(0.01)
    job = await world.delegate()
    assert [lease.job.id for lease in (await polling).jobs] == [job.id]


async def test_without_redis_another_server_s_job_is_found(world, database, redis):
    class Away:
        url, up = "redis://127.0.0.1:1", False

        def send(self, *_):
            return None

    polling = asyncio.create_task(Runner(World(database, Away())).poll(wait_s=20))
    while not (await world.runners.visible(ADA)):  # noqa: ASYNC110 - SQL has no event
        await asyncio.sleep(0.01)
    job = await world.delegate()
    assert [lease.job.id for lease in (await polling).jobs] == [job.id]


async def test_a_poll_without_work_returns_empty(world):
    news = await Runner(world).poll(wait_s=0.01)
    assert (news.jobs, news.commands, news.lost) == ([], [], [])


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_an_auditor_runs_nothing(world):
    with pytest.raises(Forbidden):
        await Runner(world, Principal(user="ada", role="auditor")).poll()


@pytest.mark.slow("races four runners for hundreds of jobs")
async def test_jobs_run_once_each_on_four_runners_of_two_servers(world, database, redis):
    worlds = [world, World(database, redis)]
    jobs = [await world.delegate(prompt=f"{n}", session_id=f"s{n % 7}") for n in range(40)]
    ran = []

    async def work(number):
        runner = Runner(worlds[number % 2], name=f"r{number}", slots=3)
        while True:
            leases = (await runner.poll()).jobs
            if not leases:
                return
            for lease in leases:
                ran.append(lease.job.id)
                await runner.tell(lease, "a", "b")
                await runner.tell(lease, "c", first=3, finish="completed")

    await asyncio.gather(*(work(number) for number in range(4)))
    assert sorted(ran) == sorted(job.id for job in jobs)
    assert {one.state for one in await world.found()} == {"completed"}
    for job in jobs:
        assert await chunks(world, job) == ["a", "b", "c"]
    for number in range(7):
        numbers = [event.session_no for event in await world.session_events(f"s{number}")]
        assert numbers == list(range(1, len(numbers) + 1))
        assert await world.mode(f"s{number}") == "default_mode"


async def test_commands_wait_for_a_runner_until_it_has_followed_them(world):
    runner, lease, job = await running(world)
    await report(world, lease, [1])
    polling = asyncio.create_task(runner.poll(wait_s=20))
    await asyncio.sleep(0)
    await world.control.cancel(ADA, job.id)
    assert [command.kind for command in (await polling).commands] == ["cancel"]
    assert [command.kind for command in (await Runner(world, name="other").poll()).commands] == []
