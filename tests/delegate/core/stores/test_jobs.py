"""Two servers on one job: the second one waits, and then sees the first one's change."""

import asyncio

from baton.delegate.core.stores import jobs
from baton.kernel.base import clock


async def test_a_job_that_one_transaction_has_locked_is_given_to_another_only_after_its_end(world):
    job = await world.delegate()
    locked, go_on = asyncio.Event(), asyncio.Event()

    async def first():
        async with clock.writing(world.database) as connection:
            await jobs.lock(connection, "default", job.id)
            locked.set()
            await go_on.wait()
            await jobs.change(connection, job.id, {"error_detail": "the first was here"})

    async def second():
        async with clock.writing(world.database) as connection:
            found = await jobs.lock(connection, "default", job.id)
            return found.error_detail

    begun = asyncio.create_task(first())
    await locked.wait()
    waiting = asyncio.create_task(second())
    done, _ = await asyncio.wait({waiting}, timeout=0.5)
    assert not done
    go_on.set()
    await begun
    assert await waiting == "the first was here"


async def test_a_job_of_another_organisation_is_not_found(world):
    job = await world.delegate()
    async with clock.writing(world.database) as connection:
        assert await jobs.lock(connection, "another", job.id) is None
