"""The account of a job's attempts: usage of each, even without a reported end, and a job's waiting reason."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.delegate.runners.progress import RunnerEvent
from baton.kernel.base.errors import Conflict, LeaseLost
from tests.delegate.runners.test_disconnected import silence
from tests.support.delegating import ADA, JobUsage, Runner, claim, report, running


async def use(world, lease, seq, cost=None, runner="laptop", **tokens):
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "_meta": {"baton": {"usage": tokens}}}
    update |= {"cost": {"amount": cost, "currency": "USD"}} if cost is not None else {}
    event = RunnerEvent(seq=seq, type="session.update", body={"update": update})
    await world.progress.record(ADA, runner, claim(lease), [event])


def accounts(job):
    return [(one["attempt"], one["runner"], one["state"], one["error_code"], one["cost_usd"]) for one in job.attempts]


async def test_the_usage_of_a_killed_runner_s_attempt_counts(world):
    runner, lease, job = await running(world, isolation="worktree", max_attempts=2)
    await use(world, lease, 1, 0.25, input_tokens=100, cached_tokens=60, output_tokens=5)
    await use(world, lease, 2, 0.5)
    second = await Runner(world, boot="b2").lease()
    await use(world, second, 1, 0.1)
    assert (await world.get(job)).cost_usd == pytest.approx(0.6)
    end = JobUsage(input_tokens=10, cached_tokens=4, output_tokens=1, cost_usd=0.2)
    runner.boot = "b2"
    await runner.tell(second, "x", first=2, finish="completed", usage=end)
    done = await world.get(job)
    assert accounts(done) == [(1, "laptop", "failed", "runner_lost", 0.5), (2, "laptop", "completed", "", 0.2)]
    assert (done.input_tokens, done.cached_tokens, done.output_tokens) == (110, 64, 6)
    assert done.cost_usd == pytest.approx(0.7)
    assert all(one["began_at"] and one["ended_at"] for one in done.attempts)


async def test_the_usage_of_a_late_result_counts_once(world):
    _, first, job = await running(world, isolation="worktree", max_attempts=2)
    await use(world, first, 1, 0.25)
    await silence(world, job)
    second = await Runner(world, name="desk", boot="b2").lease()
    for _ in range(2):
        with pytest.raises(LeaseLost):
            await Runner(world).tell(first, first=9, finish="completed", usage=JobUsage(input_tokens=7, cost_usd=0.5))
    kept = await world.get(job)
    assert accounts(kept) == [(1, "laptop", "lost", "", 0.5), (2, "desk", "", "", None)]
    assert (kept.input_tokens, kept.cost_usd, kept.late_result["attempt"]) == (7, 0.5, 1)
    await report(world, second, [1], finish="completed", runner="desk")
    assert (await world.get(job)).cost_usd == 0.5


async def test_a_lease_that_never_arrived_is_no_attempt(world):
    runner, _, job = await running(world)
    runner.held.clear()
    await world.change(job, lease_until=datetime.now(UTC) + timedelta(seconds=30))
    lease = await runner.lease()
    assert [one["attempt"] for one in (await world.get(job)).attempts] == [lease.job.attempt] == [1]


async def test_a_retry_adds_to_the_usage_of_earlier_attempts(world):
    runner, lease, job = await running(world)
    await runner.tell(lease, finish="failed", usage=JobUsage(cost_usd=0.3))
    await world.control.retry(ADA, job.id)
    await runner.tell(await runner.lease(), finish="completed", usage=JobUsage(cost_usd=0.2))
    done = await world.get(job)
    assert ([one["state"] for one in done.attempts], done.cost_usd) == (["failed", "completed"], 0.5)


async def test_a_job_shows_that_it_waits_for_the_disk_and_no_time_runs_meanwhile(world):
    runner, lease, job = await running(world, timeout_s=30)
    await report(world, lease, [1])

    async def wait_for(what):
        await world.progress.record(ADA, "laptop", claim(lease), [], None, what)
        return await world.get(job)

    assert (await wait_for("disk")).waiting_for == "disk"
    past = datetime.now(UTC) - timedelta(seconds=60)
    await world.change(job, deadline=past, waiting_since=past)
    await world.sweeper.sweep()
    assert (await runner.poll()).lost == []
    assert (await world.get(job)).state == "running"
    goes_on = await wait_for("")
    assert (goes_on.waiting_for, goes_on.waiting_since) == ("", None)
    assert goes_on.deadline > past + timedelta(seconds=59)
    await wait_for("disk")
    await report(world, lease, [2])  # events say that nothing keeps it
    assert (await world.get(job)).waiting_for == ""
    await wait_for("disk")
    await report(world, lease, [3], finish="completed")
    assert ((await world.get(job)).state, (await world.get(job)).waiting_for) == ("completed", "")
    said = [event.body.get("waiting_for", "") for event in await world.events(job) if event.type == "job.state"]
    assert [what for at, what in enumerate(said) if at and what != said[at - 1]] == ["disk", ""] * 3


async def test_a_job_waiting_for_the_disk_has_not_started(world):
    _, lease, job = await running(world)
    await world.progress.record(ADA, "laptop", claim(lease), [], None, "disk")
    waits = await world.get(job)
    assert (waits.state, waits.deadline, waits.waiting_for) == ("leased", None, "disk")


async def test_a_late_cancel_is_reported(world):
    runner, lease, job = await running(world)
    await world.control.cancel(ADA, job.id)
    await runner.tell(lease, finish="completed")
    done = await world.get(job)
    assert (done.state, done.cancel_requested) == ("completed", True)
    with pytest.raises(Conflict, match="completed before the cancel"):
        await world.control.cancel(ADA, job.id)
