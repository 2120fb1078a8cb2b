"""Task graphs in SQL; every change of one locks its row."""

from collections import defaultdict
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Index, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base import clock
from baton.kernel.base.sql import LARGEST_BATCH, Database, equal, row_of, table_of, types_of, within
from baton.lib.text.masking import mask_json
from baton.people.users import RowScope
from baton.rules.agents.task_graph import Graph, Task
from baton.rules.call.call import Principal
from baton.shared.storable import storable
from baton.spawn.graphs.graph import StoredGraph, Violation

# The tables of task graphs: graphs (locked by every change), their tasks, their violations.

_HEAD_TYPES = {
    **{name: kind for name, kind in types_of(StoredGraph).items() if name not in {"graph", "plans"}},
    **{name: kind for name, kind in types_of(Graph).items() if name != "tasks"},
}
GRAPHS = table_of(
    "task_graphs",
    _HEAD_TYPES | {"closes_at": datetime | None},
    Index("ix_task_graphs_session", "organisation", "session_id", "id"),
    Index("ix_task_graphs_closes_at", "organisation", "closes_at"),
)
TASKS = table_of(
    "graph_tasks",
    types_of(Task) | {"graph_id": str, "user": str, "position": int, "plan": dict[str, Any]},
    Index("ix_graph_tasks_user", "organisation", "user"),
    keys=("graph_id", "name"),
)
VIOLATIONS = table_of(
    "graph_violations",
    types_of(Violation) | {"user": str},
    Index("ix_graph_violations_graph", "organisation", "graph_id"),
)
_HEAD = [GRAPHS.c[name] for name in _HEAD_TYPES]


async def now(connection: AsyncConnection) -> datetime:
    """Read the database's clock: on Postgres the transaction's start time, before it waited for a lock."""
    if connection.dialect.name == "sqlite":
        text = (await connection.execute(select(func.strftime("%Y-%m-%dT%H:%M:%fZ", "now")))).scalar_one()
        return msgspec.convert(text, datetime)
    found: datetime = (await connection.execute(select(func.now()))).scalar_one()
    return found


async def add(connection: AsyncConnection, organisation: str, one: StoredGraph, closes_at: datetime | None) -> None:
    """Store a new graph with its tasks."""
    values = row_of(one.graph) | row_of(one)
    head = {name: values[name] for name in _HEAD_TYPES} | {"organisation": organisation, "closes_at": closes_at}
    await connection.execute(insert(GRAPHS).values(head))
    rows = [
        _task_row(task)
        | {"graph_id": one.id, "organisation": organisation, "user": head["user"], "position": position, "plan": {}}
        for position, task in enumerate(one.graph.tasks.values())
    ]
    await connection.execute(insert(TASKS), rows)


async def get(connection: AsyncConnection, organisation: str, graph_id: str, scope: RowScope) -> StoredGraph | None:
    """Read a graph; None if it is not among these rows."""
    query = select(*_HEAD).where(GRAPHS.c.organisation == organisation, GRAPHS.c.id == storable(graph_id))
    row = (await connection.execute(scope.limit(query, GRAPHS))).first()
    return (await _with_tasks(connection, [row]))[0] if row else None


async def owns(connection: AsyncConnection, principal: Principal, graph_id: str) -> bool:
    """Return whether a graph is a principal's own."""
    return await get(connection, principal.organisation, graph_id, RowScope(user=principal.user)) is not None


async def lock(connection: AsyncConnection, organisation: str, graph_id: str) -> StoredGraph | None:
    """Read a graph and lock its row until the end of the transaction, one of `clock.writing`."""
    query = select(*_HEAD).where(GRAPHS.c.organisation == organisation, GRAPHS.c.id == storable(graph_id))
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
                update(TASKS).where(TASKS.c.graph_id == after.id, TASKS.c.name == name).values(row)
            )
    head = {"windows": list(after.graph.windows), "closes_at": closes_at}
    await connection.execute(update(GRAPHS).where(GRAPHS.c.id == after.id).values(head))


async def note_violation(connection: AsyncConnection, organisation: str, user: str, violation: Violation) -> None:
    """Store a violation."""
    row = msgspec.structs.asdict(violation) | {"organisation": organisation, "user": storable(user)}
    await connection.execute(insert(VIOLATIONS).values(row))


async def refusals(connection: AsyncConnection, graph_id: str) -> int:
    """Count the stored refused starts of a graph."""
    query = select(func.count()).where(VIOLATIONS.c.graph_id == graph_id, VIOLATIONS.c.refused)
    return int((await connection.execute(query)).scalar_one())


async def violations(connection: AsyncConnection, organisation: str, graph_ids: list[str]) -> list[Violation]:
    """Read the violations of graphs, the oldest first."""
    query = (
        select(*(VIOLATIONS.c[name] for name in Violation.__struct_fields__))
        .where(VIOLATIONS.c.organisation == organisation, VIOLATIONS.c.graph_id.in_(graph_ids))
        .order_by(VIOLATIONS.c.at, VIOLATIONS.c.id)
    )
    return [msgspec.convert(row._asdict(), Violation) for row in await connection.execute(query)]


async def find_graphs(
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
    query = select(*_HEAD).where(
        GRAPHS.c.organisation == organisation,
        *equal(GRAPHS, session_id=session_id, user=user),
        *within(GRAPHS.c.created_at, since, until),
    )
    if before_id:
        query = query.where(GRAPHS.c.id < storable(before_id))
    query = scope.limit(query, GRAPHS).order_by(GRAPHS.c.id.desc()).limit(limit)
    return await _with_tasks(connection, (await connection.execute(query)).all())


async def due(database: Database, organisation: str, limit: int = 100) -> list[str]:
    """List graphs with a closed window and unstarted tasks for the server."""
    async with database.transaction() as connection:
        query = (
            select(GRAPHS.c.id)
            .where(GRAPHS.c.organisation == organisation, GRAPHS.c.closes_at < await clock.now(connection))
            .order_by(GRAPHS.c.closes_at)
            .limit(limit)
        )
        return [row[0] for row in await connection.execute(query)]


async def purge_graphs(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of graphs older than a timestamp, with their tasks and violations.

    Returns:
        The number of graphs removed.
    """
    oldest = (
        select(GRAPHS.c.id)
        .where(GRAPHS.c.organisation == organisation, GRAPHS.c.created_at < before)
        .order_by(GRAPHS.c.id)
        .limit(LARGEST_BATCH)
    )
    async with database.transaction() as connection:
        ids = [row[0] for row in await connection.execute(oldest)]
        if ids:
            await connection.execute(delete(VIOLATIONS).where(VIOLATIONS.c.graph_id.in_(ids)))
            await connection.execute(delete(TASKS).where(TASKS.c.graph_id.in_(ids)))
            await connection.execute(delete(GRAPHS).where(GRAPHS.c.id.in_(ids)))
    return len(ids)


def _task_row(task: Task) -> dict[str, Any]:
    return row_of(task, masked=("description", "prompt", "detail"))


async def _with_tasks(connection: AsyncConnection, heads: Any) -> list[StoredGraph]:
    query = select(TASKS).where(TASKS.c.graph_id.in_([head.id for head in heads])).order_by(TASKS.c.position)
    rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in await connection.execute(query):
        rows[row.graph_id].append(row._asdict())
    return [_stored(head._asdict(), rows[head.id]) for head in heads]


def _stored(head: dict[str, Any], rows: list[dict[str, Any]]) -> StoredGraph:
    graph = msgspec.convert(head | {"tasks": {row["name"]: row for row in rows}}, Graph)
    plans = {row["name"]: row["plan"] for row in rows if row["plan"]}
    return msgspec.convert(head | {"graph": graph, "plans": plans}, StoredGraph)
