"""The token of a delegated agent: its scope, its known places, and its end."""

from datetime import UTC, datetime

import pytest

from baton.delegate.core.job import JobFilter, JobSpec
from baton.delegate.core.stores import jobs as jobs_store
from baton.kernel.base.errors import Forbidden, NotFound, Unauthenticated
from baton.people.users import ROLES, TABLE, require, row_scope
from baton.rules.call.call import Principal
from tests.support.cases import every
from tests.support.delegating import ADA, BEA, Runner, World

PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def asking(database, redis):
    """The services of a server that asks for tokens."""
    return World(database, redis, auth="on")


async def leased(world, who=ADA, **fields):
    job = await world.delegate(**fields)
    lease = await Runner(world, who=who, shared=who is not ADA).lease()
    return job, lease


async def test_a_lease_has_an_agent_token_stored_as_a_digest(asking):
    job, lease = await leased(asking)
    assert asking.agent_tokens.check(lease.agent_token) == Principal(user="ada", team="red", role="agent", job=job.id)
    stored = await asking.get(job)
    assert (len(stored.agent_digest), lease.agent_token in str(stored)) == (64, False)
    assert stored.agent_digest not in {stored.digest, ""}


async def test_a_server_without_authentication_issues_agent_tokens(database, redis):
    world = World(database, redis, auth="off")
    job, lease = await leased(world)
    assert world.agent_tokens.check(lease.agent_token).job == job.id


async def test_an_agent_s_token_acts_for_the_owner_of_the_machine(asking):
    _, lease = await leased(asking, who=BEA)
    assert asking.agent_tokens.check(lease.agent_token).user == "bea"


ENDS = {
    "completed": lambda world, runner, lease: runner.tell(lease, "a", finish="completed"),
    "failed": lambda world, runner, lease: runner.tell(lease, "a", finish="failed", error_code="e"),
    "lost": lambda world, runner, lease: lost(world, lease),
    "taken back": lambda world, runner, lease: Runner(world, boot="b2").poll(slots=0),
}


async def lost(world, lease):
    await world.change(lease.job, lease_until=PAST)
    await world.sweeper.sweep()


@pytest.mark.parametrize("how", ENDS)
async def test_it_is_over_with_the_attempt_on_every_server(asking, database, redis, how):
    other = World(database, redis, auth="on")
    job = await asking.delegate()
    runner = Runner(asking)
    lease = await runner.lease()
    await runner.tell(lease, "a")
    await other.kernel.changes.catch_up()
    assert other.agent_tokens.check(lease.agent_token).job == job.id
    await ENDS[how](asking, runner, lease)
    await other.kernel.changes.catch_up()
    for world in (asking, other):
        with pytest.raises(Unauthenticated, match="after the end of its attempt"):
            world.agent_tokens.check(lease.agent_token)
    async with database.transaction() as connection:
        assert await jobs_store.leased_agents(connection, "default") == []


async def test_an_attempt_has_a_token_of_its_own(asking):
    _, first = await leased(asking, isolation="worktree", max_attempts=2)
    await lost(asking, first)
    second = await Runner(asking, boot="b2").lease()
    assert asking.agent_tokens.check(second.agent_token).job == first.job.id
    with pytest.raises(Unauthenticated):
        asking.agent_tokens.check(first.agent_token)


@pytest.mark.parametrize("text", ["baton_job_", "baton_job_" + "0" * 64])
async def test_an_unknown_token_is_refused(asking, text):
    await leased(asking)
    with pytest.raises(Unauthenticated):
        asking.agent_tokens.check(text)


async def test_an_agent_reads_its_own_job_and_no_other(asking):
    other = await asking.delegate()
    await Runner(asking, name="elsewhere").lease()
    job, lease = await leased(asking)
    agent = asking.agent_tokens.check(lease.agent_token)
    assert (await asking.jobs.get(agent, job.id)).id == job.id
    with pytest.raises(NotFound):
        await asking.jobs.get(agent, other.id)
    with pytest.raises(Forbidden, match="alone; it lists nothing"):
        await asking.jobs.find(agent, JobFilter(), before=("", ""), limit=1)
    for action in ("jobs.write", "jobs.decide", "jobs.submit", "jobs.run", "jobs.apply"):
        with pytest.raises(Forbidden):
            await asking.jobs.get(agent, job.id, action)
    with pytest.raises(Forbidden):
        await asking.jobs.submit(agent, JobSpec(prompt="x", session_id="s"))


async def test_a_roster_agent_delegates_in_its_own_session_only(asking):
    other = await asking.delegate(session_id="elsewhere")
    await Runner(asking, name="elsewhere").lease()
    job, lease = await leased(asking, agent_type="explore")
    agent = asking.agent_tokens.check(lease.agent_token)
    assert agent.role == "delegating-agent"
    child = await asking.jobs.submit(agent, JobSpec(prompt="x", session_id="s"))
    assert (child.user, (await asking.jobs.get(agent, child.id)).id) == ("ada", child.id)
    for session in ("elsewhere", ""):
        with pytest.raises(Forbidden, match="session `s` alone"):
            await asking.jobs.submit(agent, JobSpec(prompt="x", session_id=session))
    with pytest.raises(NotFound):
        await asking.control.cancel(agent, other.id)
    with pytest.raises(NotFound):
        await asking.control.cancel(agent, job.id)
    assert (await asking.control.cancel(agent, child.id)).state == "cancelled"


AGENT = Principal(user="ada", role="agent", job="job_1")


@every("action", sorted(TABLE))
def test_an_agent_token_has_the_listed_permissions_only(action):
    assert {"agent", "delegating-agent"}.isdisjoint(ROLES)
    if action in {"calls.make", "jobs.read"}:
        assert require(AGENT, action) == "job"
        with pytest.raises(Forbidden):
            row_scope(AGENT, action)
    else:
        with pytest.raises(Forbidden):
            require(AGENT, action)
