"""The whole difference of a job, page by page: readers, answerers, and the meaning of silence."""

import asyncio

import pytest

from baton.delegate.results import diff_pages
from baton.delegate.results.diff_pages import DiffPage
from baton.kernel.base.errors import Conflict, NotFound, RunnerAway
from tests.delegate.results.test_service import ended
from tests.support.delegating import ADA, BEA, BOB, LEAD

SECRET = "ghp_" + "a1B2" * 9


async def asked(world, runner, job, who=ADA, path="", offset=0):
    """Ask for a page; return the question and the command that the runner gets of it."""
    reading = asyncio.create_task(world.diff_pages.read(who, job.id, path, offset))
    (command,) = (await runner.poll(wait_s=20)).commands
    await runner.poll(acked=(command.id,))
    return reading, command


@pytest.mark.parametrize("who", [ADA, LEAD])
async def test_a_diff_page_is_fetched_from_the_runner_and_masked(world, who):
    runner, job = await ended(world)
    reading, command = await asked(world, runner, job, who, "src/a.py", 96)
    assert (command.kind, command.body) == (
        "result",
        {"verb": "diff", "by_agent": False, "path": "src/a.py", "offset": 96},
    )
    page = DiffPage(path="src/a.py", offset=96, text=f"+token = '{SECRET}'\n", next_offset=200)
    await world.diff_pages.record(ADA, "laptop", job.id, command.id, page)
    _, found = await reading
    assert (found.path, found.offset, found.next_offset) == ("src/a.py", 96, 200)
    assert found.text.startswith("+token")
    assert SECRET not in found.text
    assert await world.results.list_actions(ADA, job.id) == []  # reading leaves no trace among what was done with it
    with pytest.raises(NotFound):  # it is forgotten as soon as it is read
        await world.diff_pages.record(ADA, "laptop", job.id, command.id, page)


async def test_only_the_requested_runner_may_answer(world):
    runner, job = await ended(world)
    reading, command = await asked(world, runner, job)
    for who, name, of in ((BEA, "laptop", job.id), (ADA, "other", job.id), (ADA, "laptop", "job_0")):
        with pytest.raises(NotFound):
            await world.diff_pages.record(who, name, of, command.id, DiffPage(text="forged"))
    await world.diff_pages.record(ADA, "laptop", job.id, command.id, DiffPage(error="git failed"))
    with pytest.raises(Conflict, match="git failed"):
        await reading


async def test_an_unreadable_diff_is_reported(world, monkeypatch):
    monkeypatch.setattr(diff_pages, "WAIT_S", 0.1)
    _, job = await ended(world)
    with pytest.raises(NotFound):
        await world.diff_pages.read(BOB, job.id, "", 0)
    with pytest.raises(RunnerAway, match="did not answer"):
        await world.diff_pages.read(ADA, job.id, "", 0)
    in_place = await world.delegate()
    with pytest.raises(Conflict, match="worked in place"):
        await world.diff_pages.read(ADA, in_place.id, "", 0)
    waits = await world.delegate(isolation="worktree", session_id="other")
    with pytest.raises(Conflict, match="when it has ended"):
        await world.diff_pages.read(ADA, waits.id, "", 0)
