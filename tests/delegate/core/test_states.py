"""The state of a job waiting for others."""

import pytest

from baton.delegate.core.notifier import JobNotifier
from baton.delegate.core.states import JobStates, state_after
from baton.delegate.core.stores import jobs
from tests.support.cases import every
from tests.support.delegating import ADA, Runner

AFTER = [
    ("it waits for none", [], {}, ("queued", "")),
    ("all have completed", ["a", "b"], {"a": "completed", "b": "completed"}, ("queued", "")),
    ("one still runs", ["a", "b"], {"a": "completed", "b": "running"}, ("blocked", "")),
    ("one waits for leave", ["a"], {"a": "pending_approval"}, ("blocked", "")),
    ("one has failed, though another runs", ["a", "b"], {"a": "running", "b": "failed"}, ("skipped", "b")),
    ("one was cancelled", ["a"], {"a": "cancelled"}, ("skipped", "a")),
    ("one was skipped", ["a"], {"a": "skipped"}, ("skipped", "a")),
    ("one is not known any more", ["a", "b"], {"a": "completed"}, ("skipped", "b")),
    ("the first of two that failed is named", ["b", "a"], {"a": "failed", "b": "failed"}, ("skipped", "b")),
]


@every(("depends_on", "states", "expected"), [row[1:] for row in AFTER], ids=[row[0] for row in AFTER])
def test_a_job_is_queued_blocked_or_skipped_by_its_dependencies(depends_on, states, expected):
    assert state_after(depends_on, states) == expected


async def test_listeners_of_an_end_read_an_ended_job(world):
    read, runner = [], Runner(world)

    async def hook(connection, job):
        read.append((await jobs.states(connection, "default", [job.id]))[job.id])

    world.jobs.on_end(hook)
    await world.delegate()
    await runner.tell(await runner.lease(), finish="completed")
    assert read == ["completed"]


async def test_a_session_has_the_mode_of_its_newest_job(world):
    waiting = [await world.delegate(provider=provider) for provider in ("gemini", "claude_code", "opencode")]
    runner = Runner(world, providers=("gemini", "claude_code", "opencode"))
    leases = {}
    for job in sorted(waiting, key=lambda job: job.id, reverse=True):
        await world.control.cancel(ADA, job.id)
        await world.control.retry(ADA, job.id)
    for _ in waiting:
        lease = await runner.lease()
        leases[lease.job.provider] = lease
        await runner.tell(lease, "x")
        assert await world.mode() == lease.job.provider
    last = lease.job.provider
    first = next(iter(leases.values()))
    await runner.tell(first, first=2, finish="completed")
    assert await world.mode() == last


async def test_each_delegation_announces_its_mode_and_an_end_its_change(world):
    async def modes():
        shown = [event.body["update"] for event in await world.session_events() if event.type == "session.update"]
        return [one["currentModeId"] for one in shown if one["sessionUpdate"] == "current_mode_update"]

    runner = Runner(world, slots=2)
    for _ in range(2):
        await world.delegate(provider="codex")
    assert await modes() == []
    first, second = (await runner.poll()).jobs
    assert await modes() == ["codex", "codex"]
    await runner.tell(first, finish="completed")
    assert await modes() == ["codex", "codex"]
    await runner.tell(second, finish="completed")
    assert await modes() == ["codex", "codex", "default_mode"]


async def test_a_job_s_state_names_its_runner_only_while_that_has_it(world):
    runner = Runner(world)
    job = await world.delegate()
    lease = await runner.lease()
    await runner.tell(lease, "x")
    await runner.tell(lease, first=2, finish="failed", error_code="e", error_detail="why")
    bodies = [event.body for event in await world.events(job) if event.type == "job.state"]
    assert [(body["state"], body.get("runner")) for body in bodies] == [
        ("queued", None),
        ("leased", lease.job.runner_id),
        ("running", lease.job.runner_id),
        ("failed", None),
    ]
    assert [body.get("error", {}).get("code") for body in bodies] == [None, None, None, "e"]


@pytest.mark.parametrize("changed", [False, True])
async def test_a_change_of_agent_tokens_is_announced(world, changed):
    told = []

    async def hear(connection):
        told.append("in the transaction" if connection is not None else "after it")

    states = JobStates(world.database, JobNotifier(world.kernel.redis, "default"), "default", hear)
    async with states.transaction() as transaction:
        transaction.agents_changed = changed
    assert told == (["in the transaction", "after it"] if changed else [])
