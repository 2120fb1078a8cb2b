"""Requests for a job's result: permissions, the runner's notification, the meaning of its silence."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import update

from baton.delegate.core.stores.tables import COMMANDS, EVENTS, RUNNERS
from baton.delegate.results.service import ResultOutcome
from baton.kernel.base.errors import Conflict, Forbidden, NotFound, RunnerAway
from tests.support.delegating import ADA, ADMIN, BEA, BOB, LEAD, Runner, running

DONE = ResultOutcome(state="done", detail="applied 1 changed file", changed=1)
REFUSED = ResultOutcome(state="refused", code="conflict", reasons=["a.txt: patch does not apply"])


async def ended(world, who=ADA, **more):
    """Return a runner and its job with a result."""
    runner = Runner(world, who=who, shared=who is not ADA)
    job = await world.delegate(isolation="worktree", **more)
    await runner.tell(await runner.lease(), "done", finish="completed")
    return runner, job


async def age(world, ago):
    async with world.database.transaction() as connection:
        for table, column in ((COMMANDS, "created_at"), (EVENTS, "at")):
            rows = update(table).values({column: datetime.now(UTC) - ago})
            if table is EVENTS:
                rows = rows.where(table.c.type == "workspace.action")
            await connection.execute(rows)


@pytest.mark.parametrize("outcome", [DONE, REFUSED], ids=["done", "refused"])
async def test_an_action_reaches_the_runner_and_its_outcome_the_caller(world, outcome):
    runner, job = await ended(world)
    asking = asyncio.create_task(world.results.ask(ADA, job.id, "branch", {"branch": "cart"}, 60))
    (command,) = (await runner.poll(wait_s=20)).commands
    assert (command.job, command.kind) == (job.id, "result")
    assert command.body == {"verb": "branch", "by_agent": False, "branch": "cart"}
    await runner.poll(acked=(command.id,))
    taken = await world.results.get(ADA, job.id, command.id)
    assert (taken.state, taken.by, taken.asked) == ("taken", "ada", {"branch": "cart"})
    await world.results.record(ADA, "laptop", job.id, command.id, outcome)
    await world.results.record(ADA, "laptop", job.id, command.id, ResultOutcome(state="failed"))
    found = await asking
    assert (found.id, found.verb, found.state, found.code, found.reasons, found.changed) == (
        command.id, "branch", outcome.state, outcome.code, outcome.reasons, outcome.changed,
    )  # fmt: skip
    assert await world.results.list_actions(ADA, job.id) == [found]
    assert [event.type for event in await world.events(job)][-2:] == ["workspace.action"] * 2
    assert await world.state(job) == "completed"


async def test_who_asks_as_an_agent_is_known_to_the_runner(world):
    runner, job = await ended(world)
    await world.results.ask(msgspec.structs.replace(ADA, agent=True), job.id, "apply", {}, 0)
    (command,) = (await runner.poll()).commands
    assert command.body == {"verb": "apply", "by_agent": True}


async def test_a_result_belongs_to_its_machine_s_owner(world):
    runner, job = await ended(world, who=BEA)
    assert (await world.get(job)).runner_user == "bea"
    for who in (ADA, LEAD, ADMIN):
        with pytest.raises(Forbidden, match="machine of `bea`"):
            await world.results.ask(who, job.id, "apply", {}, 0)
    with pytest.raises(NotFound):
        await world.results.ask(BOB, job.id, "apply", {}, 0)
    for role in ("auditor", "runner", "agent", "delegating-agent"):
        with pytest.raises(Forbidden):
            await world.results.ask(msgspec.structs.replace(BEA, role=role), job.id, "apply", {}, 0)
    assert (await runner.poll()).commands == []
    assert (await world.results.ask(BEA, job.id, "apply", {}, 0)).state == "asked"
    (command,) = (await runner.poll()).commands
    for who, name in ((ADA, "laptop"), (BEA, "other")):
        with pytest.raises(NotFound):
            await world.results.record(who, name, job.id, command.id, DONE)
    with pytest.raises(NotFound):
        await world.results.record(BEA, "laptop", job.id, "act_other", DONE)
    with pytest.raises(NotFound):
        await world.results.get(BEA, job.id, "act_other")
    with pytest.raises(NotFound):
        await world.results.list_actions(BOB, job.id)


async def test_a_job_without_a_result_names_the_reason(world):
    with pytest.raises(Conflict, match="in place"):
        await world.results.ask(ADA, (await world.delegate()).id, "apply", {}, 0)
    _, _, busy = await running(world, isolation="worktree", provider="claude_code")
    with pytest.raises(Conflict, match="has a result when it has ended"):
        await world.results.ask(ADA, busy.id, "apply", {}, 0)
    never = await world.delegate(isolation="worktree", approval="ask")
    await world.control.cancel(ADA, never.id)
    with pytest.raises(Conflict, match="never ran"):
        await world.results.ask(ADA, never.id, "apply", {}, 0)


@pytest.mark.parametrize("known", [True, False])
async def test_an_absent_runner_gets_no_request(world, known):
    _, job = await ended(world)
    async with world.database.transaction() as connection:
        seen = datetime.now(UTC) - timedelta(seconds=75)
        row = {"last_seen": seen} if known else {"id": "another"}
        await connection.execute(update(RUNNERS).values(row))
    with pytest.raises(RunnerAway, match="last seen at" if known else "not known any more"):
        await world.results.ask(ADA, job.id, "apply", {}, 0)
    assert await world.results.list_actions(ADA, job.id) == []


async def test_an_action_not_taken_in_time_is_dropped(world):
    runner, job = await ended(world)
    asked = await world.results.ask(ADA, job.id, "apply", {}, 0)
    assert asked.state == "asked"
    await age(world, timedelta(seconds=61))
    found = await world.results.get(ADA, job.id, asked.id)
    assert (found.state, found.code) == ("expired", "runner_away")
    assert "nothing was done" in found.detail
    assert (await runner.poll()).commands == [], "a laptop that wakes tomorrow does not write into files"


async def test_an_action_that_its_runner_took_and_never_reported_expires(world):
    runner, job = await ended(world)
    asked = await world.results.ask(ADA, job.id, "apply", {}, 0)
    await runner.poll(acked=(asked.id,))
    await age(world, timedelta(minutes=9))
    assert (await world.results.get(ADA, job.id, asked.id)).state == "taken"
    await age(world, timedelta(minutes=11))
    lost = await world.results.get(ADA, job.id, asked.id)
    assert (lost.state, lost.code) == ("expired", "runner_lost")
    await world.results.record(ADA, "laptop", job.id, asked.id, DONE)
    assert (await world.results.get(ADA, job.id, asked.id)).state == "done"


async def test_a_secret_in_a_branch_s_answer_is_masked(world):
    runner, job = await ended(world)
    asked = await world.results.ask(ADA, job.id, "apply", {}, 0)
    secret = "ghp_" + "a1B2" * 9
    await runner.poll(acked=(asked.id,))
    await world.results.record(
        ADA, "laptop", job.id, asked.id, ResultOutcome(state="failed", code="push_refused", detail=f"token {secret}")
    )
    assert secret not in (await world.results.get(ADA, job.id, asked.id)).detail
