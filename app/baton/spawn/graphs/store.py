"""Task graphs in SQL; every change of one locks its row."""

from collections import defaultdict
from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlalchemy import JSON, Index, Table, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base import clock
from baton.kernel.base.sql import LARGEST_BATCH, Database, UTCDateTime
from baton.lib.text.masking import mask, mask_json
from baton.people.users import RowScope
from baton.rules.agents.task_graph import Barrier, Graph, Level, OnWindowClose, Task
from baton.rules.call.call import Principal
from baton.shared.storable import storable
from baton.spawn.graphs.graph import StoredGraph, Violation

# The tables of task graphs: graphs (locked by every change), their tasks, their violations.


class TaskGraphRow(SQLModel, table=True):
    """One graph, of one user's session."""

    __tablename__ = "task_graphs"
    __table_args__ = (
        Index("ix_task_graphs_session", "organisation", "session_id", "id"),
        Index("ix_task_graphs_closes_at", "organisation", "closes_at"),
    )
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    team: str
    user: str
    session_id: str
    project: str
    roster: str
    level: str
    barrier: str
    window_ms: int
    on_window_close: str
    execute: str
    workspace: str
    windows: list[str | None] = Field(sa_type=JSON)
    closes_at: datetime | None = Field(sa_type=UTCDateTime)
    created_at: datetime = Field(sa_type=UTCDateTime)


class GraphTaskRow(SQLModel, table=True):
    """One task of a graph."""

    __tablename__ = "graph_tasks"
    __table_args__ = (Index("ix_graph_tasks_user", "organisation", "user"),)
    __table__: ClassVar[Table]

    graph_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    organisation: str
    user: str
    position: int
    wave: int
    agent_type: str
    description: str
    prompt: str
    depends_on: list[str] = Field(sa_type=JSON)
    state: str
    task_id: str
    job_id: str
    auto: bool
    spawned_at: datetime | None = Field(sa_type=UTCDateTime)
    ended_at: datetime | None = Field(sa_type=UTCDateTime)
    detail: str
    plan: dict[str, Any] = Field(sa_type=JSON)


class GraphViolationRow(SQLModel, table=True):
    """One broken rule of the waves: the start was refused, or only counted."""

    __tablename__ = "graph_violations"
    __table_args__ = (Index("ix_graph_violations_graph", "organisation", "graph_id"),)
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    user: str
    graph_id: str
    wave: int
    task: str
    kind: str
    detail: str
    refused: bool
    at: datetime = Field(sa_type=UTCDateTime)


_graphs = TaskGraphRow.__table__
_tasks = GraphTaskRow.__table__
_violations = GraphViolationRow.__table__
_HEAD = [column for column in _graphs.c if column.name not in {"organisation", "closes_at"}]


async def now(connection: AsyncConnection) -> datetime:
    """Read the database's clock: on Postgres the transaction's start time, before it waited for a lock."""
    if connection.dialect.name == "sqlite":
        text = (await connection.execute(select(func.strftime("%Y-%m-%dT%H:%M:%fZ", "now")))).scalar_one()
        return msgspec.convert(text, datetime)
    found: datetime = (await connection.execute(select(func.now()))).scalar_one()
    return found


async def add(connection: AsyncConnection, organisation: str, one: StoredGraph, closes_at: datetime | None) -> None:
    """Store a new graph with its tasks."""
    head = {
        "id": one.id,
        "organisation": organisation,
        "team": storable(one.team),
        "user": storable(one.user),
        "session_id": storable(one.session_id),
        "project": storable(one.project),
        "roster": storable(one.roster),
        "level": one.graph.level,
        "barrier": one.graph.barrier,
        "window_ms": one.graph.window_ms,
        "on_window_close": one.graph.on_window_close,
        "execute": one.execute,
        "workspace": storable(one.workspace),
        "windows": list(one.graph.windows),
        "closes_at": closes_at,
        "created_at": one.created_at,
    }
    await connection.execute(insert(_graphs).values(head))
    rows = [
        _task_row(task)
        | {"graph_id": one.id, "organisation": organisation, "user": head["user"], "position": position, "plan": {}}
        for position, task in enumerate(one.graph.tasks.values())
    ]
    await connection.execute(insert(_tasks), rows)


async def get(connection: AsyncConnection, organisation: str, graph_id: str, scope: RowScope) -> StoredGraph | None:
    """Read a graph; None if it is not among these rows."""
    query = select(*_HEAD).where(_graphs.c.organisation == organisation, _graphs.c.id == storable(graph_id))
    row = (await connection.execute(scope.limit(query, _graphs))).first()
    return (await _with_tasks(connection, [row]))[0] if row else None


async def owns(connection: AsyncConnection, principal: Principal, graph_id: str) -> bool:
    """Return whether a graph is a principal's own."""
    return await get(connection, principal.organisation, graph_id, RowScope(user=principal.user)) is not None


async def lock(connection: AsyncConnection, organisation: str, graph_id: str) -> StoredGraph | None:
    """Read a graph and lock its row until the end of the transaction, one of `clock.writing`."""
    query = select(*_HEAD).where(_graphs.c.organisation == organisation, _graphs.c.id == storable(graph_id))
    row = (await connection.execute(query.with_for_update())).first()
    return (await _with_tasks(connection, [row]))[0] if row else None


async def save(
    connection: AsyncConnection, before: StoredGraph, after: StoredGraph, closes_at: datetime | None
) -> None:
    """Store the changes of a graph with a locked row."""
    for name, task in after.graph.tasks.items():
        changed = task != before.graph.tasks[name]
        plan = after.plans.get(name)
        if changed or plan != before.plans.get(name):
            row = _task_row(task) | ({"plan": mask_json(plan)} if plan is not None else {})
            await connection.execute(
                update(_tasks).where(_tasks.c.graph_id == after.id, _tasks.c.name == name).values(row)
            )
    head = {"windows": list(after.graph.windows), "closes_at": closes_at}
    await connection.execute(update(_graphs).where(_graphs.c.id == after.id).values(head))


async def note(connection: AsyncConnection, organisation: str, user: str, violation: Violation) -> None:
    """Store a violation."""
    row = msgspec.structs.asdict(violation) | {"organisation": organisation, "user": storable(user)}
    await connection.execute(insert(_violations).values(row))


async def refusals(connection: AsyncConnection, graph_id: str) -> int:
    """Count the stored refused starts of a graph."""
    query = select(func.count()).where(_violations.c.graph_id == graph_id, _violations.c.refused)
    return int((await connection.execute(query)).scalar_one())


async def violations(connection: AsyncConnection, organisation: str, graph_ids: list[str]) -> list[Violation]:
    """Read the violations of graphs, the oldest first."""
    query = (
        select(*(_violations.c[name] for name in Violation.__struct_fields__))
        .where(_violations.c.organisation == organisation, _violations.c.graph_id.in_(graph_ids))
        .order_by(_violations.c.at, _violations.c.id)
    )
    return [msgspec.convert(row._asdict(), Violation) for row in await connection.execute(query)]


async def find(
    connection: AsyncConnection,
    organisation: str,
    scope: RowScope,
    *,
    session_id: str = "",
    user: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    before_id: str = "",
    limit: int = 50,
) -> list[StoredGraph]:
    """Find graphs, the newest first."""
    query = select(*_HEAD).where(_graphs.c.organisation == organisation)
    for column, value in (("session_id", session_id), ("user", user)):
        if value:
            query = query.where(_graphs.c[column] == storable(value))
    if since:
        query = query.where(_graphs.c.created_at >= since)
    if until:
        query = query.where(_graphs.c.created_at < until)
    if before_id:
        query = query.where(_graphs.c.id < storable(before_id))
    query = scope.limit(query, _graphs).order_by(_graphs.c.id.desc()).limit(limit)
    return await _with_tasks(connection, (await connection.execute(query)).all())


async def due(database: Database, organisation: str, limit: int = 100) -> list[str]:
    """List graphs with a closed window and unstarted tasks for the server."""
    async with database.transaction() as connection:
        query = (
            select(_graphs.c.id)
            .where(_graphs.c.organisation == organisation, _graphs.c.closes_at < await clock.now(connection))
            .order_by(_graphs.c.closes_at)
            .limit(limit)
        )
        return [row[0] for row in await connection.execute(query)]


async def purge_graphs(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of graphs older than a timestamp, with their tasks and violations.

    Returns:
        The number of graphs removed.
    """
    oldest = (
        select(_graphs.c.id)
        .where(_graphs.c.organisation == organisation, _graphs.c.created_at < before)
        .order_by(_graphs.c.id)
        .limit(LARGEST_BATCH)
    )
    async with database.transaction() as connection:
        ids = [row[0] for row in await connection.execute(oldest)]
        if ids:
            await connection.execute(delete(_violations).where(_violations.c.graph_id.in_(ids)))
            await connection.execute(delete(_tasks).where(_tasks.c.graph_id.in_(ids)))
            await connection.execute(delete(_graphs).where(_graphs.c.id.in_(ids)))
    return len(ids)


def _task_row(task: Task) -> dict[str, Any]:
    row = msgspec.structs.asdict(task)
    masked = {name: mask(storable(row[name])) for name in ("description", "prompt", "detail")}
    return row | masked | {"agent_type": storable(row["agent_type"])}


async def _with_tasks(connection: AsyncConnection, heads: Any) -> list[StoredGraph]:
    query = select(_tasks).where(_tasks.c.graph_id.in_([head.id for head in heads])).order_by(_tasks.c.position)
    rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in await connection.execute(query):
        rows[row.graph_id].append(row._asdict())
    return [_stored(head._asdict(), rows[head.id]) for head in heads]


def _stored(head: dict[str, Any], rows: list[dict[str, Any]]) -> StoredGraph:
    level: Level = head["level"]
    barrier: Barrier = head["barrier"]
    on_window_close: OnWindowClose = head["on_window_close"]
    graph = Graph(
        tasks={row["name"]: msgspec.convert(row, Task) for row in rows},
        level=level,
        barrier=barrier,
        window_ms=head["window_ms"],
        on_window_close=on_window_close,
        windows=msgspec.convert(head["windows"], tuple[datetime | None, ...]),
    )
    return msgspec.convert(
        head | {"graph": graph, "plans": {r["name"]: r["plan"] for r in rows if r["plan"]}}, StoredGraph
    )
