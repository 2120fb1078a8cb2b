"""Task graphs on both databases, by several servers: ending jobs, simultaneous starts, the server's own starts."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from baton.kernel.base.errors import Forbidden, NotFound, SpawnRefused, StoreUnavailable
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.machines.inventories import Inventories
from baton.policies.in_force import Policies
from baton.rules.agents.judge import Spawn
from baton.rules.agents.task_graph import TaskSpec
from baton.rules.call.call import Principal
from baton.shared import policy_folders
from baton.spawn import feature
from baton.spawn.graphs import changes, store
from baton.spawn.graphs.service import NewGraph
from baton.spawn.service import SpawnRequest
from tests.support.delegating import ADA, ADMIN, BEA, LEAD, Runner, World

START = SpawnRequest(spawn=Spawn(agent_type=""))
LONG_MS = 600_000
AUDITOR = Principal(user="aud", role="auditor")


@pytest.fixture
def server(database, redis, tmp_path):
    """Make one server's services, each on connections of its own."""

    def make(own=database):
        world = World(own, redis)
        policies = Policies(policy_folders.shipped(), tmp_path / "none", own, "default")
        inventories = Inventories(redis, ttl_s=60)
        world.spawning = feature.build(
            world.kernel, users=world.users, policies=policies, jobs=world.jobs, inventories=inventories
        )
        return world

    return make


@pytest.fixture
def one(server):
    return server()


async def made(world, tasks=("a", "b"), who=ADA, **more):
    specs = {
        name: TaskSpec(agent_type="Explore", description=f"do {name}", depends_on=tuple(on))
        for name, on in (tasks.items() if isinstance(tasks, dict) else ((name, ()) for name in tasks))
    }
    asked = {"session_id": "s", "tasks": specs, "window_ms": LONG_MS, "execute": "run"} | more
    return (await world.spawning.graphs.make(who, NewGraph(**asked))).id


async def start(world, graph, task, who=ADA):
    return await world.spawning.graph_spawns.spawn(who, graph, task, START)


async def states(world, graph):
    found = await world.spawning.graphs.get(ADA, graph)
    return {name: task.state for name, task in found.graph.tasks.items()}


async def shift(world, graph, by):
    """Move the opening of every window of a graph to an earlier time."""
    async with world.database.transaction() as connection:
        held = await store.lock(connection, "default", graph)
        windows = tuple(at and at - by for at in held.graph.windows)
        after = replace(held, graph=replace(held.graph, windows=windows))
        await store.save(connection, held, after, await store.now(connection) - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("ends", "task", "below"),
    [("completed", "completed", "pending"), ("failed", "failed", "skipped"), ("cancelled", "cancelled", "skipped")],
)
async def test_a_task_ends_with_its_job_and_in_its_transaction(one, ends, task, below):
    graph = await made(one, {"a": (), "b": ("a",)})
    _, spawned = await start(one, graph, "a")
    runner = Runner(one)
    lease = await runner.lease()
    assert (lease.job.id, lease.job.task, lease.job.graph_id) == (spawned.job_id, "a", graph)
    assert lease.job.prompt == "do a"
    assert spawned.plan.task_id in lease.job.system_prompt
    if ends == "cancelled":
        await one.control.cancel(ADA, lease.job.id)
    await runner.tell(lease, "done", finish=ends)
    assert await states(one, graph) == {"a": task, "b": below}


async def test_a_job_that_is_tried_again_and_completes_brings_its_graph_back(one):
    graph = await made(one, {"a": (), "b": ("a",)})
    runner = Runner(one)
    await start(one, graph, "a")
    lease = await runner.lease()
    await runner.tell(lease, finish="failed")
    assert await states(one, graph) == {"a": "failed", "b": "skipped"}
    await one.control.retry(ADA, lease.job.id)
    await runner.tell(await runner.lease(), finish="completed")
    assert await states(one, graph) == {"a": "completed", "b": "pending"}


async def test_a_runner_s_next_lease_is_the_next_wave(one):
    graph = await made(one, {"a": (), "b": ("a",)})
    runner = Runner(one)
    await start(one, graph, "a")
    await runner.tell(await runner.lease(), finish="completed")
    await start(one, graph, "b")
    await runner.tell(await runner.lease(), finish="completed")
    assert set((await states(one, graph)).values()) == {"completed"}


@pytest.mark.matrix(2)
@pytest.mark.parametrize("names", [["a"] * 50, [f"t{number}" for number in range(10)] * 5])
async def test_of_many_starts_at_once_one_a_task_is_accepted(server, database, kept_url, names):
    other = Database(Settings(database_url=kept_url))
    servers = [server(), server(other)]
    graph = await made(servers[0], sorted(set(names)))
    answers = await asyncio.gather(
        *(start(servers[number % 2], graph, name) for number, name in enumerate(names)), return_exceptions=True
    )
    accepted = [answer[1].task for answer in answers if not isinstance(answer, BaseException)]
    refused = {answer.code for answer in answers if isinstance(answer, BaseException)}
    assert sorted(accepted) == sorted(set(names))
    assert refused - {"store_unavailable"} == {"already_spawned"}  # a busy machine may make one wait too long
    assert len(await servers[0].found(graph_id=graph)) == len(accepted)
    await other.close()


async def test_several_servers_start_remaining_tasks_once(server):
    servers = [server() for _ in range(4)]
    graph = await made(servers[0], [f"t{number}" for number in range(5)])
    await start(servers[0], graph, "t0")
    assert await store.due(servers[0].database, "default") == []
    await shift(servers[0], graph, timedelta(milliseconds=LONG_MS + 1))
    assert await store.due(servers[0].database, "default") == [graph]
    started = await asyncio.gather(*(one.spawning.graph_spawns.close(graph) for one in servers))
    assert sorted(name for names in started for name in names) == ["t1", "t2", "t3", "t4"]
    assert len(await servers[0].found(graph_id=graph)) == 5
    assert await store.due(servers[0].database, "default") == []
    report = await servers[0].spawning.graphs.compliance(ADA, graph)
    assert (report.violations, report.waves[0].auto_spawned) == ([], ["t1", "t2", "t3", "t4"])


async def test_a_task_forbidden_by_a_changed_roster_fails(server, tmp_path):
    one = server()
    graph = await made(one, ["a", "b"])
    await start(one, graph, "a")
    await shift(one, graph, timedelta(milliseconds=LONG_MS + 1))
    folder = tmp_path / "none"
    folder.mkdir()
    (folder / "agents").mkdir()
    own = "id: claude-code\ndescription: Without Explore.\nagents: {Plan: {model: opus}}\n"
    (folder / "agents" / "claude-code.yaml").write_text(own)
    changed = server()
    assert await changed.spawning.graph_spawns.close(graph) == ["b"]
    found = await one.spawning.graphs.get(ADA, graph)
    assert found.graph.tasks["b"].state == "failed"
    assert "agent `Explore` is in none of the rosters" in found.graph.tasks["b"].detail


async def test_a_late_start_leaves_no_trace(one):
    graph = await made(one, on_window_close="refuse")
    await start(one, graph, "a")
    await shift(one, graph, timedelta(milliseconds=LONG_MS + 1))
    with pytest.raises(SpawnRefused) as refused:
        await start(one, graph, "b")
    assert refused.value.code == "parallel_window"
    assert len(await one.found(graph_id=graph)) == 1
    assert (await states(one, graph))["b"] == "pending"


async def test_guidance_counts_the_late_start(one):
    graph = await made(one, on_window_close="refuse", level="guidance")
    await start(one, graph, "a")
    await shift(one, graph, timedelta(milliseconds=LONG_MS + 1))
    _, spawned = await start(one, graph, "b")
    assert "within 600000 ms of each other" in spawned.violation
    (report,) = await one.spawning.graphs.session_compliance(ADA, "s")
    assert [(violation.kind, violation.task) for violation in report.violations] == [("parallel_window", "b")]


async def test_a_graph_is_its_user_s_and_leads_and_auditors_may_look(one):
    one.users.covers = lambda principal, _action, user: principal.role == "auditor" or principal.user == user
    graph = await made(one)
    for looking in (LEAD, AUDITOR, ADMIN):
        assert (await one.spawning.graphs.get(looking, graph)).user == "ada"
    for other in (BEA, LEAD, ADMIN):
        with pytest.raises(NotFound):
            await start(one, graph, "a", other)
        with pytest.raises(NotFound):
            await one.spawning.graphs.reopen(other, graph, 1)
        with pytest.raises(NotFound):
            await one.spawning.graphs.end(other, graph, "a", "failed", "")
    with pytest.raises(Forbidden):
        await made(one, who=AUDITOR)
    with pytest.raises(NotFound):
        await one.spawning.graphs.session_compliance(BEA, "s", "ada")
    assert len(await one.spawning.graphs.session_compliance(AUDITOR, "s", "ada")) == 1


async def test_an_old_graph_is_removed_with_all_that_is_kept_of_it(one):
    graph = await made(one, level="guidance")
    await start(one, graph, "a")
    async with one.database.transaction() as connection:
        now = await store.now(connection)
    assert await store.purge_graphs(one.database, "another", now + timedelta(days=1)) == 0
    assert await store.purge_graphs(one.database, "default", now - timedelta(days=1)) == 0
    assert await store.purge_graphs(one.database, "default", now + timedelta(days=1)) == 1
    with pytest.raises(NotFound):
        await one.spawning.graphs.get(ADA, graph)


async def test_an_unavailable_database_is_reported_and_nothing_is_created(no_database, server):
    away = server(no_database)
    with pytest.raises(StoreUnavailable):
        await made(away)
    with pytest.raises(StoreUnavailable):
        await away.spawning.graphs.get(ADA, "graph_x")


async def test_the_server_s_own_delay_makes_no_start_late(server):
    one, other = server(), server()
    graph = await made(one, on_window_close="refuse", window_ms=200)
    late = asyncio.Event()
    judge = other.spawning.spawns.judge

    async def slow(*given):
        await late.wait()
        return await judge(*given)

    other.spawning.graph_spawns._spawns.judge = slow
    waiting = asyncio.create_task(start(other, graph, "b"))
    await start(one, graph, "a")
    await asyncio.sleep(0.25)
    late.set()
    await waiting
    assert await states(one, graph) == {"a": "running", "b": "running"}


async def test_of_refused_starts_only_the_first_are_kept(one, monkeypatch):
    monkeypatch.setattr(changes, "MOST_REFUSED", 2)
    graph = await made(one, {"a": (), "b": ("a",)})
    for _ in range(4):
        with pytest.raises(SpawnRefused):
            await start(one, graph, "b")
    (found,) = await one.spawning.graphs.session_compliance(ADA, "s")
    assert [(v.kind, v.task, v.refused) for v in found.violations] == [("wrong_wave", "b", True)] * 2
