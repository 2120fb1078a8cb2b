"""Runners unheard of for a while: a network cut, a laptop asleep. Their work is taken back, and counted once."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from baton.delegate.core.stores.tables import RUNNERS
from baton.kernel.base.errors import LeaseLost
from tests.support.delegating import ADA, Runner, chunks, report, running, told

AGO = timedelta(seconds=75)


async def silence(world, job, ago=AGO):
    """Make it so that a job's runner was last heard of some time ago, and sweep."""
    heard = datetime.now(UTC) - ago
    await world.change(job, lease_until=heard + timedelta(seconds=60))
    async with world.database.transaction() as connection:
        await connection.execute(update(RUNNERS).values(last_seen=heard))
    await world.sweeper.sweep()
    return heard


async def test_a_silent_runner_keeps_its_job_and_the_job_shows_since_when(world):
    runner, lease, job = await running(world)
    await report(world, lease, [1])
    heard = await silence(world, job)
    away = await world.get(job)
    assert (away.state, away.disconnected_since, await world.mode()) == ("running", heard, "codex")
    await world.sweeper.sweep()
    assert (await runner.poll()).lost == []
    back = await world.get(job)
    assert (back.state, back.disconnected_since) == ("running", None)
    await report(world, lease, [2, 3], finish="completed")
    assert (await world.state(job), await chunks(world, job)) == ("completed", ["1", "2", "3"])
    states = [event.body for event in await world.events(job) if event.type == "job.state"]
    assert ["disconnected_since" in body for body in states].count(True) == 1


async def test_a_result_of_a_disconnected_runner_completes_the_job(world):
    _, lease, job = await running(world)
    await report(world, lease, [1])
    await silence(world, job)
    assert (await report(world, lease, [1, 2])).accepted == 2
    await report(world, lease, [3], finish="completed")
    done = await world.get(job)
    assert (done.state, done.disconnected_since, done.late_result) == ("completed", None, None)
    assert await chunks(world, job) == ["1", "2", "3"]


async def test_time_out_of_touch_counts_against_no_deadline(world):
    runner, lease, job = await running(world, timeout_s=30)
    await report(world, lease, [1])
    deadline = datetime.now(UTC) - timedelta(seconds=20)
    await world.change(job, deadline=deadline)
    for ago in (timedelta(seconds=50), AGO):  # before and after the lease ran out
        await silence(world, job, ago)
        assert await world.state(job) == "running"
    await runner.poll()
    await world.sweeper.sweep()
    back = await world.get(job)
    assert back.state == "running"
    assert back.deadline >= deadline + AGO
    await world.change(job, deadline=deadline)  # heard of since: it is late
    await world.sweeper.sweep()
    assert (await world.get(job)).error_code == "timeout"


async def test_a_job_s_timeout_pauses_while_no_server_runs(world):
    _, lease, job = await running(world, timeout_s=30)
    await report(world, lease, [1])
    now = datetime.now(UTC)
    await world.sweeper.take_turn(now - timedelta(minutes=5))
    await world.change(job, lease_until=now - timedelta(minutes=4), deadline=now - timedelta(minutes=2))
    await world.sweeper.take_turn(now)
    assert await world.state(job) == "running"
    await report(world, lease, [2], finish="completed")
    assert await world.state(job) == "completed"


async def test_a_job_with_attempts_left_is_resumed_by_its_runner(world):
    runner, lease, job = await running(world, isolation="worktree", max_attempts=2)
    await report(world, lease, [1])
    await silence(world, job)
    assert (await world.state(job), await world.mode()) == ("queued", "default_mode")
    news = await runner.poll()
    assert (news.lost, news.jobs) == ([], [])  # not leased to itself anew
    back = await world.get(job)
    assert (back.state, back.attempt, back.disconnected_since, await world.mode()) == ("running", 1, None, "codex")
    assert back.agent_digest  # its agent goes on, with the token that it has
    await report(world, lease, [2], finish="completed")
    assert (await world.state(job), await chunks(world, job)) == ("completed", ["1", "2"])


async def test_an_attempt_that_was_superseded_keeps_its_late_result(world):
    runner, first, job = await running(world, isolation="worktree", max_attempts=2)
    await report(world, first, [1])
    await silence(world, job)
    second = await Runner(world, name="desk", boot="b2").lease()
    assert (await world.get(job)).disconnected_since is None
    with pytest.raises(LeaseLost):
        await report(world, first, [2], finish="completed")
    assert (await runner.poll()).lost == [job.id]
    kept = await world.get(job)
    assert (kept.state, kept.attempt, kept.late_result["attempt"]) == ("leased", 2, 1)
    await report(world, second, [1], finish="completed", runner="desk")
    assert await world.state(job) == "completed"


async def test_a_question_of_an_agent_out_of_touch_is_denied_when_its_job_is_queued(world):
    runner, lease, job = await running(world, isolation="worktree", max_attempts=2)
    asked = await runner.ask(lease)
    assert await world.state(job) == "awaiting_permission"
    await silence(world, job)
    (command,) = (await runner.poll()).commands
    assert (command.kind, command.body["permission"], command.body["answer"]) == (
        "permission",
        asked.permission,
        "deny",
    )
    assert await world.state(job) == "running"


async def test_a_job_cancelled_while_disconnected_stays_cancelled(world):
    runner, lease, job = await running(world, isolation="worktree", max_attempts=2)
    await report(world, lease, [1])
    await silence(world, job)
    await world.control.cancel(ADA, job.id)
    with pytest.raises(LeaseLost):
        await report(world, lease, [2], finish="completed")
    assert (await world.state(job), (await runner.poll()).lost) == ("cancelled", [job.id])
    assert (await world.get(job)).late_result["state"] == "completed"


async def test_a_runner_that_no_longer_runs_a_job_is_not_waited_for(world):
    runner, lease, job = await running(world)
    await report(world, lease, [1])
    await silence(world, job)
    runner.held.clear()
    await runner.poll()
    failed = await world.get(job)
    assert (failed.state, failed.error_code, failed.error_detail) == (
        "failed",
        "runner_lost",
        "the runner `laptop` no longer runs it",
    )


async def test_an_absent_runner_is_finally_lost(world):
    _, lease, job = await running(world)
    await report(world, lease, [1])
    heard = await silence(world, job, timedelta(days=1, minutes=1))
    failed = await world.get(job)
    assert (failed.state, failed.error_code) == ("failed", "runner_lost")
    assert f"{heard:%H:%M:%S} UTC" in failed.error_detail
    assert [told(event) for event in await world.events(job)][-3] == "tool_call_update failed"
    with pytest.raises(LeaseLost):
        await report(world, lease, [1, 2], finish="completed")
    late = (await world.get(job)).late_result
    assert (late["attempt"], late["state"]) == (1, "completed")
