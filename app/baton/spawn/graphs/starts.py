"""Starts of graphs' tasks: one, a whole wave at once, or by the server itself when a wave's window has closed.

Each start is one transaction that holds the graph, so that of many at once exactly one is accepted. What may start when
is judged by `baton.engine.agents.waves`.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping

import msgspec

from baton.delegate.jobs.service import Job
from baton.engine.agents.judge import Refusal, Spawn
from baton.engine.agents.plan import Plan
from baton.engine.agents.task_graph import Graph, Task, ended
from baton.engine.agents.waves import Breach, admit, closes_at, due, startable
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Conflict, Invalid, NotFound, SpawnRefused
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.permissions import require
from baton.people.row_scope import RowScope
from baton.spawn.graphs import store
from baton.spawn.graphs.changes import Held, change, holding
from baton.spawn.graphs.service import Graphs
from baton.spawn.graphs.store import StoredGraph
from baton.spawn.jobs import Asked, SpawnJobs
from baton.spawn.service import Spawned, Spawns, refused

log = logging.getLogger(__name__)

LOOK_S = 2.0
"""How often SQL is asked for windows that another process opened and did not live to close, in seconds."""
_AFTER_S = 0.005
"""How long after a window's end the server looks, in seconds."""


class GraphSpawns:
    """Starts tasks of graphs."""

    def __init__(
        self, database: Database, graphs: Graphs, spawns: Spawns, jobs: SpawnJobs, *, organisation: str
    ) -> None:
        self._database = database
        self._graphs = graphs
        self._spawns = spawns
        self._jobs = jobs
        self._organisation = organisation
        self._closing = asyncio.Event()

    async def spawn(
        self, principal: Principal, graph_id: str, task: str, asked: Asked, *, arrived: float | None = None
    ) -> tuple[StoredGraph, Spawned]:
        """Start one task. Raises as `batch` does."""
        stored, (spawned,) = await self.batch(principal, graph_id, {task: asked}, arrived=arrived)
        return stored, spawned

    async def batch(
        self,
        principal: Principal,
        graph_id: str,
        asked: Mapping[str, Asked] | Asked,
        *,
        arrived: float | None = None,
    ) -> tuple[StoredGraph, list[Spawned]]:
        """Start tasks at one moment, all or none: those that are named, or all that may start now, asked for alike.

        `arrived` is when this was asked for, by the loop's clock; now if it is not given.

        Raises:
            Conflict: no task may start now, or one of them was skipped.
            Invalid: a task is not of this graph, or what is asked does not fit it.
            NotFound: the principal has no such graph.
            SpawnRefused: the rosters forbid it, or the graph: it is not its time, or it was started before.
            StoreUnavailable: the database is away; nothing was started.
        """
        arrived = asyncio.get_running_loop().time() if arrived is None else arrived
        require(principal, "graphs.write")
        before = await self._graphs.get(principal, graph_id, "graphs.write")
        if isinstance(asked, Asked):
            asked = dict.fromkeys(startable(before.graph), asked)
            if not asked:
                raise Conflict(f"no task of task graph `{graph_id}` may start now")
        fitted = {name: _fitted(before, name, one) for name, one in asked.items()}
        plans = {name: await self._spawns.judge(principal, one) for name, one in fitted.items()}
        jobs: list[Job] = []
        async with holding(self._database, principal, graph_id, arrived=arrived) as held:
            stored, spawned = await self._start(principal, held, fitted, plans, jobs)
        for job in jobs:
            await self._jobs.announce(job)
        self._expect(stored, held)
        return stored, spawned

    async def run(self, stop: asyncio.Event) -> None:
        """Start what is left of waves whose window has closed, until told to stop."""
        while not stop.is_set():
            self._closing.clear()
            with contextlib.suppress(DatabaseUnavailable):
                for graph_id in await store.due(self._database, self._organisation):
                    try:
                        await self.close(graph_id)
                    except Exception:
                        log.exception("what is left of task graph %s could not be started", graph_id)
            await self._pause(stop)

    async def close(self, graph_id: str) -> list[str]:
        """Start what is left of a graph's waves whose window has closed; give the names of these tasks.

        A task that no roster lets start any more has failed.
        """
        async with self._database.transaction() as connection:
            at = await store.now(connection)
            found = await store.get(connection, self._organisation, graph_id, RowScope())
        if found is None:
            return []
        principal = Principal(organisation=self._organisation, team=found.team, user=found.user)
        plans: dict[str, Plan | str] = {}
        fitted = {name: _fitted(found, name, Asked(spawn=Spawn(agent_type=""))) for name in due(found.graph, at)}
        for name, one in fitted.items():
            try:
                plans[name] = await self._spawns.judge(principal, one)
            except (SpawnRefused, Invalid) as error:
                plans[name] = error.detail
        jobs: list[Job] = []
        async with holding(self._database, principal, graph_id) as held:
            left = [name for name in due(held.stored.graph, held.at) if name in plans]
            good = {name: plan for name in left if isinstance(plan := plans[name], Plan)}
            bad = {name: detail for name in left if isinstance(detail := plans[name], str)}
            await self._start(principal, held, fitted, good, jobs, bad, auto=True)
        for job in jobs:
            await self._jobs.announce(job)
        return left

    async def _start(
        self,
        principal: Principal,
        held: Held,
        asked: Mapping[str, Asked],
        plans: Mapping[str, Plan],
        jobs: list[Job],
        bad: Mapping[str, str] | None = None,
        *,
        auto: bool = False,
    ) -> tuple[StoredGraph, list[Spawned]]:
        graph, breaches, spawned = held.stored.graph, list[Breach](), list[Spawned]()
        for name, plan in plans.items():
            admitted = admit(graph, name, held.at, auto=auto)
            if isinstance(admitted, Refusal):
                raise refused(admitted)
            job = None
            if held.stored.execute == "run":
                job = await self._jobs.start(
                    principal, asked[name], plan, connection=held.connection, graph_id=held.stored.id, task=name
                )
                jobs.append(job)
            graph = _noted(admitted.graph, name, task_id=plan.task_id, job_id=job.id if job else "")
            if admitted.breach:
                breaches.append(admitted.breach)
            spawned.append(
                Spawned(
                    plan=plan,
                    task=name,
                    job_id=job.id if job else "",
                    job_state=job.state if job else "",
                    violation=admitted.breach.detail if admitted.breach else "",
                )
            )
        for name, detail in (bad or {}).items():
            graph = ended(graph, name, "failed", held.at, detail)
        kept = {one.task: msgspec.to_builtins(one.plan) for one in spawned}
        stored = await change(held, principal.organisation, graph, plans=kept, breaches=breaches)
        return stored, spawned

    def _expect(self, stored: StoredGraph, held: Held) -> None:
        """Look again as soon as the graph's window has closed with tasks left."""
        moment = closes_at(stored.graph)
        if moment is not None:
            wait_s = max((moment - held.at).total_seconds(), 0) + _AFTER_S
            asyncio.get_running_loop().call_later(wait_s, self._closing.set)

    async def _pause(self, stop: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._closing, stop)]
        try:
            await asyncio.wait(waits, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _fitted(stored: StoredGraph, name: str, asked: Asked) -> Asked:
    """Fill a start with what its task and its graph say; what it says itself must fit them."""
    task = stored.graph.tasks.get(name)
    if task is None:
        raise Invalid("task", f"is `{name}`, which is no task of this graph", list(stored.graph.tasks))
    if asked.session_id not in {"", stored.session_id}:
        raise NotFound(f"session `{asked.session_id}` has no task graph `{stored.id}`")
    for field, given, own in (
        ("agent_type", asked.spawn.agent_type, task.agent_type),
        ("roster", asked.roster, stored.roster),
        ("project", asked.project, stored.project),
        ("workspace", asked.workspace, stored.workspace),
        ("execute", asked.execute, stored.execute),
    ):
        if given and given != own:
            raise Invalid(field, f"is `{given}`, and task `{name}` is for `{own}`")
    spawn = msgspec.structs.replace(
        asked.spawn,
        agent_type=task.agent_type,
        prompt=asked.spawn.prompt or task.prompt or task.description,
        description=asked.spawn.description or task.description,
    )
    if not spawn.prompt:
        raise Invalid("prompt", f"is missing, and task `{name}` has neither a prompt nor a description")
    return Asked(
        spawn=spawn,
        execute="run" if stored.execute == "run" else "plan",
        session_id=stored.session_id,
        project=stored.project,
        workspace=stored.workspace,
        roster=stored.roster,
    )


def _noted(graph: Graph, name: str, *, task_id: str, job_id: str) -> Graph:
    task: Task = msgspec.structs.replace(graph.tasks[name], task_id=task_id, job_id=job_id)
    return msgspec.structs.replace(graph, tasks={**graph.tasks, name: task})
