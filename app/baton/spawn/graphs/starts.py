"""Starts the tasks of graphs: one, a whole wave, or by the server itself when a wave's window has closed.

Each start is one transaction that locks the graph, so of several simultaneous ones exactly one is accepted.
`baton.rules.agents.task_graph` decides the permitted start times.
"""

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from baton.delegate.core.job import Job
from baton.delegate.jobs.service import Jobs
from baton.kernel.base.errors import Conflict, Invalid, NotFound, SpawnRefused
from baton.kernel.base.sql import Database
from baton.people.users import RowScope, require
from baton.rules.agents.judge import Refusal, Spawn
from baton.rules.agents.plan import Plan
from baton.rules.agents.task_graph import Breach, Graph, Task, admit, breach_of, closes_at, due, ended, startable
from baton.rules.call.call import Principal
from baton.spawn.graphs import store
from baton.spawn.graphs.changes import LockedGraph, change, locked_graph, note_breaches
from baton.spawn.graphs.graph import StoredGraph
from baton.spawn.graphs.service import Graphs
from baton.spawn.service import SpawnRequest, SpawnResult, Spawns, refusal_error, start_job

log = logging.getLogger(__name__)

_AFTER_S = 0.005
"""Delay of the server's check after a window's end, in seconds."""


class PlannedStart(msgspec.Struct, frozen=True, kw_only=True):
    """A start of one task: the request, and its plan or the rosters' refusal."""

    request: SpawnRequest
    plan: Plan | str


class StartedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """The graph after a start, the started tasks, and the jobs to announce after the commit."""

    stored: StoredGraph
    results: list[SpawnResult]
    jobs: list[Job]


class GraphSpawns:
    """Starts tasks of graphs."""

    def __init__(self, database: Database, graphs: Graphs, spawns: Spawns, jobs: Jobs, *, organisation: str) -> None:
        self._database = database
        self._graphs = graphs
        self._spawns = spawns
        self._jobs = jobs
        self._organisation = organisation
        self.closing = asyncio.Event()  # a window has closed

    async def spawn(
        self, principal: Principal, graph_id: str, task: str, request: SpawnRequest, *, arrived: float | None = None
    ) -> tuple[StoredGraph, SpawnResult]:
        """Start one task. Raises like `batch`."""
        stored, (result,) = await self.batch(principal, graph_id, {task: request}, arrived=arrived)
        return stored, result

    async def batch(
        self,
        principal: Principal,
        graph_id: str,
        requests: Mapping[str, SpawnRequest] | SpawnRequest,
        *,
        arrived: float | None = None,
    ) -> tuple[StoredGraph, list[SpawnResult]]:
        """Start tasks simultaneously, all or none: the named ones, or all startable ones with one request.

        `arrived` is the request's arrival by the loop's clock; now if absent.

        Raises:
            Conflict: If no task may start now, or one of them was skipped.
            Invalid: If a task is unknown, or the request does not match the task.
            NotFound: If the principal has no such graph.
            SpawnRefused: If the rosters or the graph forbid the start: wrong time, or already started.
            StoreUnavailable: If the database is unavailable; nothing was started.
        """
        arrived = asyncio.get_running_loop().time() if arrived is None else arrived
        require(principal, "graphs.write")
        before = await self._graphs.get(principal, graph_id, "graphs.write")
        if isinstance(requests, SpawnRequest):
            requests = dict.fromkeys(startable(before.graph), requests)
            if not requests:
                raise Conflict(f"no task of task graph `{graph_id}` may start now")
        fitted = {name: _fit_to_task(before, name, one) for name, one in requests.items()}
        # Judged before the graph is locked: policies may have to be combined first, and others wait for the lock.
        planned = {
            name: PlannedStart(request=one, plan=await self._spawns.judge(principal, one))
            for name, one in fitted.items()
        }
        async with locked_graph(self._database, principal, graph_id, arrived=arrived) as locked:
            started = await self._start(principal, locked, planned)
        if isinstance(started, Refusal):
            raise refusal_error(started)
        for job in started.jobs:
            await self._jobs.announce(job)
        self._expect_close(started.stored, locked)
        waiting = await self._jobs.waiting(started.jobs)
        results = [msgspec.structs.replace(one, waiting=waiting.get(one.job_id)) for one in started.results]
        return started.stored, results

    async def start_due(self) -> None:
        """Start the remaining tasks of waves with a closed window. Raise DatabaseUnavailable."""
        for graph_id in await store.due(self._database, self._organisation):
            try:
                await self.close(graph_id)
            except Exception:
                log.exception("what is left of task graph %s could not be started", graph_id)

    async def close(self, graph_id: str) -> list[str]:
        """Start the remaining tasks of a graph's waves with a closed window; return their names.

        A task no longer allowed by any roster fails.
        """
        async with self._database.transaction() as connection:
            at = await store.now(connection)
            found = await store.get(connection, self._organisation, graph_id, RowScope())
        if found is None:
            return []
        principal = Principal(organisation=self._organisation, team=found.team, user=found.user)
        nothing_said = SpawnRequest(spawn=Spawn(agent_type=""))
        planned: dict[str, PlannedStart] = {}
        for name in due(found.graph, at):
            request = _fit_to_task(found, name, nothing_said)
            try:
                planned[name] = PlannedStart(request=request, plan=await self._spawns.judge(principal, request))
            except (SpawnRefused, Invalid) as error:
                planned[name] = PlannedStart(request=request, plan=error.detail)
        async with locked_graph(self._database, principal, graph_id) as locked:
            # Checked again under the lock: a task may have been started meanwhile.
            left = [name for name in due(locked.stored.graph, locked.at) if name in planned]
            started = await self._start(principal, locked, {name: planned[name] for name in left}, auto=True)
        if isinstance(started, Refusal):
            raise refusal_error(started)
        for job in started.jobs:
            await self._jobs.announce(job)
        return left

    async def _start(
        self, principal: Principal, locked: LockedGraph, planned: Mapping[str, PlannedStart], *, auto: bool = False
    ) -> "StartedTasks | Refusal":
        """Start the planned tasks and fail the others, or record a refusal and start none."""
        graph, admitted, refusals = _admitted(locked, planned, auto=auto)
        if refusals:
            # Returned instead of raised: raising would roll back the records for the report.
            tries = (breach_of(graph.tasks[name], refusal, refused=True) for name, refusal in refusals.items())
            await note_breaches(locked, principal.organisation, [one for one in tries if one])
            return next(iter(refusals.values()))
        results, jobs = list[SpawnResult](), list[Job]()
        for name, one in planned.items():
            if isinstance(one.plan, str):
                continue
            result = SpawnResult(plan=one.plan, task=name)
            if locked.stored.execute == "run":
                graph_task = (locked.stored.id, name)
                try:
                    job = await start_job(
                        self._jobs,
                        principal,
                        one.request,
                        one.plan,
                        connection=locked.connection,
                        graph_task=graph_task,
                    )
                except Invalid as error:  # such as a provider without a runner; nothing was stored for it
                    if not auto:
                        raise
                    graph = ended(graph, name, "failed", locked.at, error.detail)
                    continue
                jobs.append(job)
                result = msgspec.structs.replace(result, job_id=job.id, job_state=job.state)
            breach = admitted[name]
            if breach:
                result = msgspec.structs.replace(result, violation=breach.detail)
            graph = _with_ids(graph, name, task_id=one.plan.task_id, job_id=result.job_id)
            results.append(result)
        for name, one in planned.items():
            if isinstance(one.plan, str):
                graph = ended(graph, name, "failed", locked.at, one.plan)
        plans = {one.task: msgspec.to_builtins(one.plan) for one in results}
        breaches = [one for one in admitted.values() if one]
        stored = await change(locked, principal.organisation, graph, plans=plans, breaches=breaches)
        return StartedTasks(stored=stored, results=results, jobs=jobs)

    def _expect_close(self, stored: StoredGraph, locked: LockedGraph) -> None:
        """Wake `start_due` as soon as the graph's window has closed with unstarted tasks."""
        moment = closes_at(stored.graph)
        if moment is not None:
            wait_s = max((moment - locked.at).total_seconds(), 0) + _AFTER_S
            asyncio.get_running_loop().call_later(wait_s, self.closing.set)


def _admitted(
    locked: LockedGraph, planned: Mapping[str, PlannedStart], *, auto: bool
) -> tuple[Graph, dict[str, Breach | None], dict[str, Refusal]]:
    """Start the planned tasks in the graph; return it, the broken rule of each start, and the refused ones."""
    graph, admitted, refusals = locked.stored.graph, dict[str, Breach | None](), dict[str, Refusal]()
    for name, one in planned.items():
        if isinstance(one.plan, str):
            continue
        found = admit(graph, name, locked.at, auto=auto)
        if isinstance(found, Refusal):
            refusals[name] = found
        else:
            graph, admitted[name] = found.graph, found.breach
    return graph, admitted, refusals


def _fit_to_task(stored: StoredGraph, name: str, request: SpawnRequest) -> SpawnRequest:
    """Fill a request with its task's and graph's values; its own values must match them."""
    task = stored.graph.tasks.get(name)
    if task is None:
        raise Invalid("task", f"is `{name}`, an unknown task of this graph", list(stored.graph.tasks))
    if request.session_id not in {"", stored.session_id}:
        raise NotFound(f"session `{request.session_id}` has no task graph `{stored.id}`")
    for field, given, own in (
        ("agent_type", request.spawn.agent_type, task.agent_type),
        ("roster", request.roster, stored.roster),
        ("project", request.project, stored.project),
        ("workspace", request.arguments.workspace, stored.workspace),
        ("execute", request.execute, stored.execute),
    ):
        # A graph without roster, project or workspace lets each start choose.
        if given and own and given != own:
            raise Invalid(field, f"is `{given}`, and task `{name}` is for `{own}`")
    spawn = msgspec.structs.replace(
        request.spawn,
        agent_type=task.agent_type,
        prompt=request.spawn.prompt or task.prompt or task.description,
        description=request.spawn.description or task.description,
    )
    if not spawn.prompt:
        raise Invalid("prompt", f"is missing, and task `{name}` has neither a prompt nor a description")
    return SpawnRequest(
        spawn=spawn,
        execute="run" if stored.execute == "run" else "plan",
        session_id=stored.session_id,
        project=stored.project or request.project,
        arguments=msgspec.structs.replace(request.arguments, workspace=stored.workspace or request.arguments.workspace),
        roster=stored.roster or request.roster,
    )


def _with_ids(graph: Graph, name: str, *, task_id: str, job_id: str) -> Graph:
    task: Task = msgspec.structs.replace(graph.tasks[name], task_id=task_id, job_id=job_id)
    return msgspec.structs.replace(graph, tasks={**graph.tasks, name: task})
