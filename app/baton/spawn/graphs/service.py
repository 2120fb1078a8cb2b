"""Makes and shows task graphs, ends their tasks, reopens their waves. `spawn.graphs.starts` starts tasks."""

from typing import Any, Literal

from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.delegate.core.job import Job
from baton.kernel.base import clock
from baton.kernel.base.errors import Conflict, FieldError, GraphRefused, NotFound
from baton.kernel.base.sql import Database, StoreErrors
from baton.people.users import RowScope, Users, require, row_scope
from baton.rules.agents import task_graph
from baton.rules.agents.judge import Refusal, target
from baton.rules.call.call import Principal
from baton.spawn.graphs import store
from baton.spawn.graphs.changes import AWAY, LockedGraph, change, locked_graph
from baton.spawn.graphs.graph import GraphCompliance, NewGraph, StoredGraph
from baton.spawn.service import Spawns, refusal_error

MOST_SHOWN = 200
"""Maximum graphs of one session with shown compliance, the newest."""


class Graphs:
    """The organisation's task graphs."""

    def __init__(self, database: Database, spawns: Spawns, users: Users) -> None:
        self._database = database
        self._spawns = spawns
        self._users = users

    async def make(self, principal: Principal, new: NewGraph) -> StoredGraph:
        """Make a graph; if one task is invalid, nothing is made.

        Raises:
            GraphRefused: If it has a cycle, or an unknown, repeated or own dependency.
            SpawnRefused: If no roster has the agent of a task.
            StoreUnavailable: If the database is unavailable; nothing was made.
        """
        require(principal, "graphs.write")
        found = task_graph.faults(new.tasks)
        if found:
            raise _refused(found)
        rosters = await self._spawns.rosters(principal, new.project, new.roster)
        for name, spec in new.tasks.items():
            agent = target(rosters, spec.agent_type)
            if isinstance(agent, Refusal):
                raise refusal_error(agent, f"tasks.{name}.")
        graph = task_graph.build(
            new.tasks,
            level=new.level,
            barrier=new.barrier,
            window_ms=new.window_ms,
            on_window_close=new.on_window_close or ("auto_spawn" if new.execute == "run" else "refuse"),
        )
        with StoreErrors(AWAY):
            async with clock.writing(self._database) as connection:
                stored = StoredGraph(
                    id=f"graph_{uuid7().hex}",
                    team=principal.team,
                    user=principal.user,
                    session_id=new.session_id,
                    project=new.project,
                    roster=new.roster,
                    execute=new.execute,
                    workspace=new.workspace,
                    created_at=await store.now(connection),
                    graph=graph,
                    plans={},
                )
                await store.add(connection, principal.organisation, stored, task_graph.closes_at(graph))
        return stored

    async def get(self, principal: Principal, graph_id: str, action: str = "graphs.read") -> StoredGraph:
        """Return a graph. Raise NotFound, StoreUnavailable."""
        rows = row_scope(principal, action)
        async with self._database.transaction(AWAY) as connection:
            found = await store.get(connection, principal.organisation, graph_id, rows)
        if found is None:
            raise NotFound(f"there is no task graph `{graph_id}`")
        return found

    async def find(self, principal: Principal, **wanted: Any) -> list[StoredGraph]:
        """Return the graphs visible to a principal, the newest first. Raise StoreUnavailable."""
        rows = row_scope(principal, "graphs.read")
        async with self._database.transaction(AWAY) as connection:
            return await store.find_graphs(connection, principal.organisation, rows, **wanted)

    async def end(
        self, principal: Principal, graph_id: str, name: str, state: Literal["completed", "failed"], detail: str
    ) -> StoredGraph:
        """End a task without a job; repeating the same end changes nothing.

        Raises:
            Conflict: If it ends with its job, was not started, or has ended differently.
            NotFound: If the principal has no such graph, or the graph no such task.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        require(principal, "graphs.write")
        async with locked_graph(self._database, principal, graph_id) as locked:
            task = locked.stored.graph.tasks.get(name)
            if task is None:
                raise NotFound(f"task graph `{graph_id}` has no task `{name}`")
            if task.state == state:
                return locked.stored
            if task.job_id:
                raise Conflict(f"task `{name}` ends with its job `{task.job_id}`; cancel that to stop it")
            if task.state in task_graph.ENDED:
                raise Conflict(f"task `{name}` is already {task.state}")
            if state == "completed" and task.state != "running":
                raise Conflict(f"task `{name}` is {task.state}; spawn it before it is completed")
            graph = task_graph.ended(locked.stored.graph, name, state, locked.at, detail)
            return await change(locked, principal.organisation, graph)

    async def job_ended(self, connection: AsyncConnection, job: Job) -> None:
        """End the task of a job, in the job's own transaction; a retried job ends again."""
        if not job.graph_id:
            return
        stored = await store.lock(connection, job.organisation, job.graph_id)
        task = stored.graph.tasks.get(job.task) if stored else None
        if stored is None or task is None or task.job_id != job.id:
            return
        # A lost task is restored if its job is retried and completes; the tasks skipped for it may then start.
        if task.state in task_graph.ENDED and not (task.state in task_graph.LOST and job.state == "completed"):
            return
        at = await store.now(connection)
        state: task_graph.End = (
            "completed" if job.state == "completed" else "cancelled" if job.state == "cancelled" else "failed"
        )
        graph = task_graph.ended(stored.graph, task.name, state, at, job.error_detail)
        await change(LockedGraph(connection=connection, stored=stored, at=at), job.organisation, graph)

    async def reopen(self, principal: Principal, graph_id: str, wave: int) -> StoredGraph:
        """Reopen a wave (from 1) with unstarted tasks after its window closed; recorded as a violation.

        Raises:
            Conflict: If its window is open, was never opened, or blocks no task.
            NotFound: If the principal has no such graph, or the graph no such wave.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        require(principal, "graphs.write")
        async with locked_graph(self._database, principal, graph_id) as locked:
            if not 1 <= wave <= len(locked.stored.graph.windows):
                raise NotFound(f"task graph `{graph_id}` has no wave {wave}")
            opened = task_graph.reopen(locked.stored.graph, wave - 1, locked.at)
            if isinstance(opened, str):
                raise Conflict(opened)
            breaches = (opened.breach,) if opened.breach else ()
            return await change(locked, principal.organisation, opened.graph, breaches=breaches)

    async def compliance(self, principal: Principal, graph_id: str) -> GraphCompliance:
        """Return the compliance of a graph's waves. Raise NotFound, StoreUnavailable."""
        return (await self._compliance(principal, [await self.get(principal, graph_id)]))[0]

    async def session_compliance(self, principal: Principal, session_id: str, user: str = "") -> list[GraphCompliance]:
        """Return the compliance of the graphs of a user's session, the newest first. Raise NotFound, StoreUnavailable.

        Without `user` the session is the principal's own.
        """
        require(principal, "graphs.read")
        user = user or principal.user
        if not self._users.covers(principal, "graphs.read", user):
            raise NotFound(f"there is no session `{session_id}` of `{user}`")
        async with self._database.transaction(AWAY) as connection:
            found = await store.find_graphs(
                connection, principal.organisation, RowScope(user=user), session_id=session_id, limit=MOST_SHOWN
            )
        return await self._compliance(principal, found)

    async def _compliance(self, principal: Principal, found: list[StoredGraph]) -> list[GraphCompliance]:
        async with self._database.transaction(AWAY) as connection:
            broken = await store.violations(connection, principal.organisation, [one.id for one in found])
            at = await store.now(connection)
        graphs = []
        for one in found:
            violations = [violation for violation in broken if violation.graph_id == one.id]
            waves = task_graph.report(
                one.graph, [task_graph.WaveViolation(kind=v.kind, wave=v.wave) for v in violations], at
            )
            graphs.append(GraphCompliance(stored=one, waves=waves, violations=violations))
        return graphs


def _refused(found: list[task_graph.TaskFault]) -> GraphRefused:
    errors = [FieldError(fault.field, fault.message, list(fault.allowed)) for fault in found]
    return GraphRefused("; ".join(f"`{fault.field}` {fault.message}" for fault in found), *errors)
