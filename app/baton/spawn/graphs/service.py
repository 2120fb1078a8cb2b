"""Task graphs: made, looked at, their tasks ended, their waves opened again. It starts no task: `graph_spawns` does."""

from typing import Literal

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.delegate.core.store import Job
from baton.engine.agents.compliance import WaveReport, WaveViolation, report
from baton.engine.agents.judge import Refusal, target
from baton.engine.agents.task_graph import (
    ENDED,
    LOST,
    Barrier,
    End,
    Fault,
    Level,
    OnWindowClose,
    TaskSpec,
    build,
    ended,
    faults,
)
from baton.engine.agents.waves import closes_at, reopen
from baton.engine.call.principal import Principal
from baton.kernel.base import clock
from baton.kernel.base.errors import Conflict, FieldError, GraphRefused, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.permissions import require
from baton.people.row_scope import RowScope, row_scope
from baton.people.users import Users
from baton.spawn.graphs import store
from baton.spawn.graphs.changes import AWAY, Held, change, holding
from baton.spawn.graphs.store import StoredGraph, Violation
from baton.spawn.jobs import Execute
from baton.spawn.service import Spawns, refused

MOST_REPORTED = 200
"""Graphs of one session that a report covers, the newest."""


class NewGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A graph to make. Without `on_window_close` it is auto_spawn where the tasks run here, else refuse."""

    session_id: str
    tasks: dict[str, TaskSpec]
    level: Level = "strict"
    barrier: Barrier = "wave"
    window_ms: int = 500
    on_window_close: OnWindowClose | None = None
    execute: Execute = "plan"
    workspace: str = ""
    roster: str = ""
    project: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How well one graph kept to its waves, and what it broke."""

    stored: StoredGraph
    waves: list[WaveReport]
    violations: list[Violation]


class Graphs:
    """The organisation's task graphs."""

    def __init__(self, database: Database, spawns: Spawns, users: Users) -> None:
        self._database = database
        self._spawns = spawns
        self._users = users

    async def make(self, principal: Principal, new: NewGraph) -> StoredGraph:
        """Make a graph, whole or not at all.

        Raises:
            GraphRefused: it has a cycle, or a dependency that is unknown, its own or named twice.
            SpawnRefused: no roster knows the agent of a task.
            StoreUnavailable: the database is away; nothing was made.
        """
        require(principal, "graphs.write")
        found = faults(new.tasks)
        if found:
            raise _refused(found)
        rosters = await self._spawns.rosters(principal, new.project, new.roster)
        for name, spec in new.tasks.items():
            agent = target(rosters, spec.agent_type)
            if isinstance(agent, Refusal):
                raise refused(agent, f"tasks.{name}.")
        graph = build(
            new.tasks,
            level=new.level,
            barrier=new.barrier,
            window_ms=new.window_ms,
            on_window_close=new.on_window_close or ("auto_spawn" if new.execute == "run" else "refuse"),
        )
        try:
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
                await store.add(connection, principal.organisation, stored, closes_at(graph))
        except DatabaseUnavailable:
            raise StoreUnavailable(AWAY) from None
        return stored

    async def get(self, principal: Principal, graph_id: str, action: str = "graphs.read") -> StoredGraph:
        """Give a graph.

        Raises:
            NotFound: there is none that the principal may see.
            StoreUnavailable: the database is away.
        """
        theirs = row_scope(principal, action)
        try:
            async with self._database.transaction() as connection:
                found = await store.get(connection, principal.organisation, graph_id, theirs)
        except DatabaseUnavailable:
            raise StoreUnavailable(AWAY) from None
        if found is None:
            raise NotFound(f"there is no task graph `{graph_id}`")
        return found

    async def find(
        self, principal: Principal, *, session_id: str, user: str, before_id: str, limit: int
    ) -> list[StoredGraph]:
        """Find graphs that a principal may see, the newest first. Raises StoreUnavailable."""
        theirs = row_scope(principal, "graphs.read")
        try:
            async with self._database.transaction() as connection:
                return await store.find(
                    connection,
                    principal.organisation,
                    theirs,
                    session_id=session_id,
                    user=user,
                    before_id=before_id,
                    limit=limit,
                )
        except DatabaseUnavailable:
            raise StoreUnavailable(AWAY) from None

    async def end(
        self, principal: Principal, graph_id: str, name: str, state: Literal["completed", "failed"], detail: str
    ) -> StoredGraph:
        """End a task that does not run here; saying the same again changes nothing.

        Raises:
            Conflict: it ends with its job, was not started, or has ended otherwise.
            NotFound: the principal has no such graph, or it has no such task.
            StoreUnavailable: the database is away; nothing was changed.
        """
        require(principal, "graphs.write")
        async with holding(self._database, principal, graph_id) as held:
            task = held.stored.graph.tasks.get(name)
            if task is None:
                raise NotFound(f"task graph `{graph_id}` has no task `{name}`")
            if task.state == state:
                return held.stored
            if task.job_id:
                raise Conflict(f"task `{name}` ends with its job `{task.job_id}`; cancel that to stop it")
            if task.state in ENDED:
                raise Conflict(f"task `{name}` is {task.state} already")
            if state == "completed" and task.state != "running":
                raise Conflict(f"task `{name}` is {task.state}; spawn it before it is completed")
            graph = ended(held.stored.graph, name, state, held.at, detail)
            return await change(held, principal.organisation, graph)

    async def job_ended(self, connection: AsyncConnection, job: Job) -> None:
        """End the task that a job ran, in the transaction that ends the job; a job may end again that is tried again."""
        if not job.graph_id:
            return
        stored = await store.lock(connection, job.organisation, job.graph_id)
        task = stored.graph.tasks.get(job.task) if stored else None
        if stored is None or task is None or task.job_id != job.id:
            return
        if task.state in ENDED and not (task.state in LOST and job.state == "completed"):
            return
        at = await store.now(connection)
        state: End = "completed" if job.state == "completed" else "cancelled" if job.state == "cancelled" else "failed"
        graph = ended(stored.graph, task.name, state, at, job.error_detail)
        await change(Held(connection=connection, stored=stored, at=at), job.organisation, graph)

    async def reopen(self, principal: Principal, graph_id: str, wave: int) -> StoredGraph:
        """Open a wave (from 1) again whose window closed with tasks left; this is recorded as a violation.

        Raises:
            Conflict: its window is open, was never opened, or keeps no task back.
            NotFound: the principal has no such graph, or it has no such wave.
            StoreUnavailable: the database is away; nothing was changed.
        """
        require(principal, "graphs.write")
        async with holding(self._database, principal, graph_id) as held:
            if not 1 <= wave <= len(held.stored.graph.windows):
                raise NotFound(f"task graph `{graph_id}` has no wave {wave}")
            opened = reopen(held.stored.graph, wave - 1, held.at)
            if isinstance(opened, str):
                raise Conflict(opened)
            breaches = (opened.breach,) if opened.breach else ()
            return await change(held, principal.organisation, opened.graph, breaches=breaches)

    async def report(self, principal: Principal, graph_id: str) -> Report:
        """Report on one graph.

        Raises:
            NotFound: there is none that the principal may see.
            StoreUnavailable: the database is away.
        """
        return (await self._reports(principal, [await self.get(principal, graph_id)]))[0]

    async def session_report(self, principal: Principal, session_id: str, user: str = "") -> list[Report]:
        """Report on the graphs of a session of a user's, the principal's own without `user`; the newest first.

        Raises:
            NotFound: the principal may not see this user's.
            StoreUnavailable: the database is away.
        """
        require(principal, "graphs.read")
        user = user or principal.user
        if not self._users.covers(principal, "graphs.read", user):
            raise NotFound(f"there is no session `{session_id}` of `{user}`")
        try:
            async with self._database.transaction() as connection:
                found = await store.find(
                    connection,
                    principal.organisation,
                    RowScope(user=user),
                    session_id=session_id,
                    limit=MOST_REPORTED,
                )
        except DatabaseUnavailable:
            raise StoreUnavailable(AWAY) from None
        return await self._reports(principal, found)

    async def _reports(self, principal: Principal, found: list[StoredGraph]) -> list[Report]:
        try:
            async with self._database.transaction() as connection:
                broken = await store.violations(connection, principal.organisation, [one.id for one in found])
        except DatabaseUnavailable:
            raise StoreUnavailable(AWAY) from None
        reports = []
        for one in found:
            violations = [violation for violation in broken if violation.graph_id == one.id]
            waves = report(one.graph, [WaveViolation(kind=v.kind, wave=v.wave) for v in violations])
            reports.append(Report(stored=one, waves=waves, violations=violations))
        return reports


def _refused(found: list[Fault]) -> GraphRefused:
    errors = [FieldError(fault.field, fault.message, list(fault.allowed)) for fault in found]
    return GraphRefused("; ".join(f"`{fault.field}` {fault.message}" for fault in found), *errors)
