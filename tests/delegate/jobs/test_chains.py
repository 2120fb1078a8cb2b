"""Jobs waiting for others: continued and skipped ones, and a hook's part in the transaction of an end."""

from datetime import UTC, datetime

import pytest

from baton.delegate.core.job import JobSpec
from baton.kernel.base.errors import Invalid
from tests.support.delegating import ADA, BOB, Runner

PAST = datetime(2020, 1, 1, tzinfo=UTC)
ACK = "✓ Delegated to codex. Task: list files"


async def test_a_chain_waits_and_continues(world):
    runner = Runner(world)
    first = await world.delegate(prompt="one")
    second = await world.delegate(prompt="two", depends_on=(first.id,))
    third = await world.delegate(prompt="three", depends_on=(first.id, second.id))
    assert [await world.state(job) for job in (first, second, third)] == ["queued", "blocked", "blocked"]
    for job in (first, second, third):
        lease = await runner.lease(slots=3)
        assert lease.job.id == job.id
        await runner.tell(lease, finish="completed")
    assert (await world.delegate(prompt="four", depends_on=(first.id,))).state == "queued"


@pytest.mark.parametrize("end", ["failed", "cancelled"])
async def test_all_dependents_of_a_failed_job_are_skipped(world, end):
    runner = Runner(world)
    first = await world.delegate()
    second = await world.delegate(depends_on=(first.id,))
    third = await world.delegate(depends_on=(second.id,), session_id="t")
    await runner.tell(await runner.lease(), finish=end)
    assert [await world.state(job) for job in (second, third)] == ["skipped", "skipped"]
    assert (await world.get(second)).error_code == "dependency_failed"
    assert (await world.delegate(depends_on=(third.id,))).state == "skipped"
    assert await world.mode() == "default_mode"


@pytest.mark.parametrize("end", ["completed", "failed"])
async def test_a_retry_unskips_the_dependents(world, end):
    runner = Runner(world)
    first = await world.delegate(prompt="one")
    second = await world.delegate(prompt="two", depends_on=(first.id,))
    third = await world.delegate(prompt="three", depends_on=(second.id,), session_id="t")
    await runner.tell(await runner.lease(), finish="failed")
    other = await world.delegate(prompt="four", depends_on=(first.id,))
    await world.control.cancel(ADA, (cancelled := await world.delegate(prompt="five")).id)
    both = await world.delegate(prompt="six", depends_on=(first.id, cancelled.id))
    await world.control.retry(ADA, first.id)
    assert [await world.state(job) for job in (first, second, third, other)] == ["queued", *["blocked"] * 3]
    assert await world.state(both) == "skipped"
    await runner.tell(await runner.lease(), finish=end)
    expected = ["queued", "blocked", "queued"] if end == "completed" else ["skipped"] * 3
    assert [await world.state(job) for job in (second, third, other)] == expected
    if end == "completed":
        leases = (await runner.poll(slots=2)).jobs
        for lease in leases:
            await runner.tell(lease, finish="completed")
        assert {lease.job.id for lease in leases} == {second.id, other.id}
        assert (await runner.lease()).job.id == third.id


async def test_the_sweeper_unblocks_a_forgotten_job(world):
    first = await world.delegate()
    second = await world.delegate(depends_on=(first.id,))
    await world.change(first, state="completed")
    await world.sweeper.sweep()
    assert await world.state(second) == "queued"


async def test_another_s_job_is_no_dependency(world):
    job = await world.delegate(BOB)
    with pytest.raises(Invalid, match="not one of your jobs"):
        await world.delegate(depends_on=(job.id,))


async def test_a_hook_makes_jobs_in_the_transaction_that_ends_one(world):
    made, runner = [], Runner(world, slots=2)

    async def hook(connection, job):
        if not made:
            made.append(job.state)
            new = JobSpec(prompt="next", session_id="s")
            made.append(await world.jobs.submit(ADA, new, connection=connection))

    world.jobs.on_end(hook)
    await world.delegate()
    await runner.tell(await runner.lease(), finish="completed")
    assert made[0] == "completed"
    assert await world.mode() == "default_mode"
    await runner.tell(await runner.lease(), finish="completed")
    assert (await world.state(made[1]), await world.mode()) == ("completed", "default_mode")


async def test_a_job_is_rolled_back_with_its_transaction(world, database):
    async with database.transaction() as connection:
        await world.jobs.submit(ADA, JobSpec(prompt="x"), connection=connection)
        await connection.rollback()
    assert await world.found() == []
    async with database.transaction() as connection:
        job = await world.jobs.submit(ADA, JobSpec(prompt="x"), connection=connection)
    await world.jobs.announce(job)
    assert (await Runner(world).lease()).job.session_id == job.id
