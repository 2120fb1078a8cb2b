"""The queue: unserved and expiring jobs, and one job in place in one folder at a time."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from baton.delegate.core.stores.tables import RUNNERS
from baton.kernel.base.errors import Invalid
from baton.modes.request import ModeTarget
from baton.rules.call.call import Principal
from baton.rules.call.modes import Freeze
from baton.shared.caller import Caller
from tests.support.delegating import ADA, ADMIN, BEA, BOB, Runner, World

PAST = datetime(2020, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def waiting(world, job):
    job = await world.get(job)
    return (await world.jobs.waiting([job])).get(job.id)


async def away(world, runner, **ago):
    """Let a runner be heard of last so long ago."""
    table = RUNNERS
    async with world.database.transaction() as connection:
        seen = datetime.now(UTC) - timedelta(**ago)
        await connection.execute(table.update().where(table.c.id == runner.name).values(last_seen=seen))


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"provider": "gemini"}, "provider", "not served by your runners (`laptop`: codex, claude_code in shop)"),
        ({"workspace": "other"}, "workspace", "unknown to your runners"),
        (
            {"provider": "opencode", "workspace": "shop"},
            "workspace",
            "but none of your runners there serves `opencode`",
        ),
    ],
)
async def test_an_unserved_provider_is_refused_with_the_served_ones(world, fields, field, words):
    laptop = Runner(world)
    await laptop.poll(name="laptop")
    if fields.get("provider") == "opencode":
        await Runner(world, name="desk", boot="b2", providers=("opencode",), workspaces=("web",)).poll()
    await away(world, laptop, days=3)  # its last word counts, however long ago
    with pytest.raises(Invalid) as refused:
        await world.delegate(**fields)
    assert (refused.value.errors[0].field, words in refused.value.detail) == (field, True)
    assert await world.found() == []
    job = await world.delegate()
    assert (job.state, (await waiting(world, job)).reason) == ("queued", "runner_offline")


FREEZES = [
    ({"scope": "organisation"}, True),
    ({"scope": "team", "id": "red"}, True),
    ({"scope": "team", "id": "blue"}, False),
    ({"scope": "project", "id": "till"}, True),
    ({"scope": "project", "id": "shop"}, False),
    ({"scope": "user", "id": "ada"}, True),
    ({"scope": "user", "id": "bea"}, True),
    ({"scope": "user", "id": "bob"}, False),
    ({"scope": "session", "id": "s", "read_only": True}, True),
    ({"scope": "session", "id": "s", "user": "bob"}, False),
]


@pytest.mark.parametrize(("freeze", "stops"), FREEZES, ids=[" ".join(map(str, one.values())) for one, _ in FREEZES])
async def test_a_job_of_a_frozen_scope_waits_with_the_reason(world, freeze, stops):
    desk = Runner(world, who=BEA, shared=True)  # a machine of bea, for jobs of the team
    await desk.poll()
    job = await world.delegate(project="till")
    caller = Caller(principal=ADMIN)
    await world.freezes.set(caller, Freeze(reason="incident 7", **freeze))
    assert bool((await desk.poll()).jobs) is not stops
    if stops:
        seen = await waiting(world, job)
        assert freeze.get("id") == "bea" or (seen.reason, "incident 7" in seen.detail) == ("frozen", True)
        await world.freezes.end(
            caller, ModeTarget(**{key: value for key, value in freeze.items() if key != "read_only"}), "over"
        )
        assert [one.job.id for one in (await desk.poll()).jobs] == [job.id]


async def test_a_frozen_job_does_not_keep_others_waiting(world):
    laptop = Runner(world)
    await laptop.poll()
    await world.delegate(project="till")
    other = await world.delegate(project="shop")
    await world.freezes.set(Caller(principal=ADMIN), Freeze(scope="project", id="till", reason="r"))
    assert [one.job.id for one in (await laptop.poll()).jobs] == [other.id]


async def test_another_s_runner_neither_serves_nor_hinders(world):
    await Runner(world, who=BOB).poll()
    job = await world.delegate(provider="gemini")
    assert (await waiting(world, job)).reason == "no_runner"
    await Runner(world, who=BEA, shared=True).poll()  # a team's runner serves ada too
    with pytest.raises(Invalid, match="codex"):
        await world.delegate(provider="gemini")


async def test_a_job_that_no_live_runner_could_take_expires_and_may_be_retried(world):
    runner = Runner(world)
    await runner.poll(slots=0)
    job, patient = await world.delegate(queue_expiry_s=60), await world.delegate(queue_expiry_s=0)
    await world.change(job, expires_at=PAST)
    await world.sweeper.sweep()
    assert await world.state(job) == "queued"  # the runner was there a moment ago
    assert (await world.get(job)).expires_at > datetime.now(UTC)
    await away(world, runner, minutes=2)
    await world.change(job, expires_at=PAST)
    await world.sweeper.sweep()
    failed = await world.get(job)
    assert (failed.state, failed.error_code) == ("failed", "queue_expired")
    assert "no runner took it in 60 s: no runner for codex is connected" in failed.error_detail
    assert await world.state(patient) == "queued"
    again = await world.control.retry(ADA, job.id)
    assert (again.state, again.expires_at > datetime.now(UTC)) == ("queued", True)
    assert (await runner.lease()).job.id == patient.id


async def test_a_job_behind_others_at_a_busy_runner_does_not_expire(world):
    runner = Runner(world)
    first, second = await world.delegate(), await world.delegate(queue_expiry_s=60)
    await runner.lease()
    await runner.poll(slots=0)
    await world.change(second, expires_at=PAST)
    await world.sweeper.sweep()
    found = await waiting(world, second)
    assert (await world.state(second), found.reason, found.expires_at) == ("queued", "slots_busy", None)
    assert await waiting(world, first) is None


async def test_time_without_a_server_does_not_count(world):
    job = await world.delegate(queue_expiry_s=600)
    now = datetime.now(UTC)
    await world.sweeper.take_turn(now - HOUR)
    await world.change(job, queued_at=now - HOUR, expires_at=now - timedelta(minutes=50))
    await world.sweeper.take_turn(now)
    assert await world.state(job) == "queued"
    left = (await world.get(job)).expires_at - now
    assert timedelta(minutes=9) < left < timedelta(minutes=11)


async def test_a_job_that_its_holder_may_take_back_does_not_expire(world):
    runner = Runner(world)
    job = await world.delegate(isolation="worktree", max_attempts=2, queue_expiry_s=60)
    lease = await runner.lease()
    await runner.tell(lease, "one")
    await away(world, runner, minutes=5)
    await world.change(job, lease_until=datetime.now(UTC) - timedelta(minutes=4))
    await world.sweeper.sweep()
    await world.change(job, expires_at=PAST, disconnected_since=datetime.now(UTC) - HOUR)
    await world.sweeper.sweep()
    assert await world.state(job) == "queued"
    await runner.tell(lease, first=2, finish="completed")
    assert await world.state(job) == "completed"


FOLDERS = {"shop": "m/a/", "web": "m/a/b/", "docs": "m/c/"}
ALL = {"slots": 9, "workspaces": ("shop", "web", "docs"), "folders": FOLDERS}


async def test_jobs_in_place_in_one_folder_run_one_after_the_other_in_the_order_of_the_queue(world):
    laptop = Runner(world, **ALL)
    desk = Runner(world, name="desk", boot="b2", slots=9, workspaces=("theshop",), folders={"theshop": "m/a/"})
    for runner in (laptop, desk):
        await runner.poll(slots=0)
    first = await world.delegate(workspace="shop")
    waits = [await world.delegate(workspace=name) for name in ("shop", "shop", "web", "theshop")]
    at_once = [
        await world.delegate(workspace="docs"),
        await world.delegate(workspace="shop", isolation="worktree"),
        await world.delegate(workspace="shop", concurrent=True),
    ]
    leased = (await laptop.poll()).jobs
    assert {one.job.id for one in leased} == {job.id for job in (first, *at_once)}
    assert (await desk.poll()).jobs == []
    for job in waits:
        assert (await waiting(world, job)).reason == "folder_busy"
    for lease in leased:
        await laptop.tell(lease, finish="completed")
    for job in waits:
        runner, other = (desk, laptop) if job.workspace == "theshop" else (laptop, desk)
        lease = await runner.lease()
        assert (lease.job.id, (await other.poll()).jobs) == (job.id, [])
        await runner.tell(lease, finish="completed")


async def test_tasks_of_one_graph_run_in_one_folder_at_once_and_others_wait_for_them(world):
    laptop = Runner(world, **ALL)
    tasks = [await world.delegate(graph_id="g", task=name) for name in "abc"]
    others = [await world.delegate(graph_id="h", task="a"), await world.delegate()]
    leased = (await laptop.poll()).jobs
    assert {one.job.id for one in leased} == {job.id for job in tasks}
    for lease in leased:
        assert (await laptop.poll()).jobs == []
        await laptop.tell(lease, finish="completed")
    assert [one.job.id for one in (await laptop.poll()).jobs] == [others[0].id]


async def test_a_job_delegated_by_an_agent_does_not_wait_for_it(world):
    laptop = Runner(world, **ALL)
    parent = await world.delegate(workspace="shop", agent_type="explore")
    await laptop.lease()
    agent = Principal(user="ada", team="red", role="delegating-agent", job=parent.id, session="s")
    child = await world.delegate(agent, workspace="shop")
    assert (child.concurrent, (await laptop.lease()).job.id) == (True, child.id)


@pytest.mark.parametrize("end", ["requeue", "cancel", "lose"])
async def test_a_folder_is_free_however_its_job_ends(world, end):
    laptop = Runner(world, **ALL)
    first = await world.delegate(workspace="shop")
    second = await world.delegate()  # "" stands for the first workspace
    lease = await laptop.lease()
    if end == "cancel":
        await laptop.tell(lease, finish="cancelled")
    elif end == "lose":
        await laptop.tell(lease, "one")
        laptop.held.clear()
        laptop.boot = "b2"
    else:
        laptop.held.clear()  # the answer to the poll was lost: the job is queued again, behind the other
        await world.change(first, lease_until=PAST)
        laptop.boot = "b2"
    found = [one.job.id for one in (await laptop.poll()).jobs]
    found += [one.job.id for one in (await laptop.poll()).jobs]
    assert second.id in found
    assert len(found) == 1


async def test_of_two_runners_of_a_machine_that_poll_at_once_one_gets_a_folder(world):
    runners = [Runner(world, name=f"r{n}", boot=f"b{n}", slots=2, folders={"shop": "m/a/"}) for n in range(6)]
    jobs = {(await world.delegate(workspace="shop")).id for _ in range(4)}
    done = set()
    while len(done) < len(jobs):
        leased = [(runner, lease) for runner, news in zip(runners, await asyncio.gather(*(one.poll() for one in runners)), strict=True) for lease in news.jobs]  # fmt: skip
        assert len(leased) == 1
        for runner, lease in leased:
            await runner.tell(lease, finish="completed")
            done.add(lease.job.id)
    assert done == jobs


async def test_the_end_of_a_job_wakes_the_runner_for_the_next_one_in_its_folder(database, redis):
    world = World(database, redis)
    laptop = Runner(world, **ALL)
    await world.delegate(workspace="shop")
    second = await world.delegate(workspace="shop")
    lease = await laptop.lease()
    polling = asyncio.create_task(laptop.poll(wait_s=20))
    await asyncio.sleep(0.2)
    held = dict(laptop.held)
    await laptop.tell(lease, finish="completed")
    (found,) = (await polling).jobs
    assert (found.job.id, list(held)) == (second.id, [lease.job.id])
