"""A job's arguments: defaults, faults, and continued or restarted threads."""

import pytest

from baton.delegate.jobs.arguments import ARGUMENTS, JobArgumentsBody
from baton.kernel.base.errors import Invalid
from tests.support.delegating import ADA, BEA, BOB, Runner, World, report


async def ended(world, runner, agent="agent-1", **fields):
    """Run a job to its end; its agent has a session."""
    job = await world.delegate(**fields)
    lease = await runner.lease()
    assert lease.job.id == job.id
    await report(world, lease, [1])
    await world.change(job, agent_session=agent)
    await runner.tell(lease, finish="completed", first=2)
    return job


def test_every_way_to_delegate_takes_the_same_arguments():
    assert set(JobArgumentsBody.model_fields) == set(ARGUMENTS)
    assert JobArgumentsBody(**dict.fromkeys(ARGUMENTS)) == JobArgumentsBody()


async def test_times_that_are_not_given_are_the_server_s(database, redis):
    world = World(database, redis, job_timeout_s=50, job_inactivity_s=40, queue_expiry="2m")
    names = ("timeout_s", "inactivity_timeout_s", "queue_expiry_s")
    job = await world.delegate()
    assert [getattr(job, name) for name in names] == [50, 40, 120]
    job = await world.delegate(timeout_s=5, inactivity_timeout_s=0, queue_expiry_s=0)
    assert [getattr(job, name) for name in names] == [5, 0, 0]


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"timeout_s": 0}, "timeout_s", "from 1 to 86400"),
        ({"inactivity_timeout_s": -1}, "inactivity_timeout_s", "from 0 to 86400"),
        ({"queue_expiry_s": 2_592_001}, "queue_expiry_s", "from 0 to 2592000"),
        ({"isolation": "docker"}, "isolation", "`docker`"),
        ({"thread": ""}, "thread", "blank"),
        ({"thread": "job_0"}, "thread", "`job_0`, not one of your jobs"),
    ],
)
async def test_an_invalid_argument_is_named(world, fields, field, words):
    with pytest.raises(Invalid) as refused:
        await world.delegate(**fields)
    assert (refused.value.errors[0].field, words in refused.value.detail) == (field, True)
    assert await world.found() == []


async def test_a_thread_continues_unless_a_fresh_one_is_requested(world):
    runner = Runner(world)
    await ended(world, runner)
    for thread, agent in (("continue", "agent-1"), ("fresh", "")):
        job = await world.delegate(thread=thread)
        lease = await runner.lease()
        assert (lease.job.id, lease.job.thread, lease.agent_session) == (job.id, thread, agent)
        await runner.tell(lease, finish="completed")


async def test_a_job_s_thread_continues_on_its_runner(world):
    laptop, desk = Runner(world), Runner(world, name="desk", boot="b2")
    await desk.poll()
    first = await ended(world, laptop, provider="claude_code", workspace="shop", isolation="worktree", session_id="c9")
    await ended(world, laptop, "agent-2", session_id="c9", provider="claude_code")
    job = await world.delegate(thread=first.id, provider="", session_id="", isolation="worktree")
    assert (job.provider, job.workspace, job.session_id) == ("claude_code", "shop", "c9")
    assert (await desk.poll()).jobs == []
    lease = await laptop.lease()
    assert (lease.job.id, lease.agent_session, lease.job.thread) == (job.id, "agent-1", first.id)


@pytest.mark.parametrize(
    ("who", "more", "field", "words"),
    [
        (BEA, {}, "thread", "not one of your jobs"),
        (BOB, {}, "thread", "not one of your jobs"),
        (ADA, {"provider": "gemini"}, "provider", "is of `codex`"),
        (ADA, {"workspace": "other"}, "workspace", "first workspace"),
    ],
)
async def test_a_thread_that_cannot_go_on_is_refused(world, who, more, field, words):
    first = await ended(world, Runner(world))
    with pytest.raises(Invalid) as refused:
        await world.delegate(who, thread=first.id, **({"provider": ""} | more))
    assert (refused.value.errors[0].field, words in refused.value.detail) == (field, True)


async def test_a_thread_that_still_runs_or_never_began_is_refused(world):
    runner = Runner(world)
    queued = await world.delegate()
    for job, words in ((queued, "wait for its end"), (None, "never started")):
        if job is None:
            lease = await runner.lease()
            await runner.tell(lease, finish="failed")
        with pytest.raises(Invalid, match=words):
            await world.delegate(thread=queued.id)


async def test_a_thread_without_its_runner_is_refused(world):
    runner = Runner(world)
    first = await ended(world, runner)
    await runner.poll(providers=("gemini",))
    with pytest.raises(Invalid, match=r"whose runner `laptop` serves it no longer \(`laptop`: gemini in shop\)"):
        await world.delegate(thread=first.id)
