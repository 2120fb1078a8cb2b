"""`/graphs`: tasks with dependencies, started wave by wave. It judges nothing itself."""

import json
from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.kernel.http.paging import Cursor, Limit, Text, after, page
from baton.people.callers import ArrivedAt, CallerOf
from baton.people.rate_limits import EXPENSIVE, WORK
from baton.spawn.bodies import SpawnModel, asked
from baton.spawn.graphs.bodies import BatchBody, BatchModel, GraphBody, GraphModel, GraphPage, TaskSpawnBody
from baton.spawn.graphs.compliance_api import ComplianceModel, SessionComplianceModel
from baton.spawn.graphs.service import Graphs
from baton.spawn.graphs.starts import GraphSpawns

router = APIRouter(tags=["graphs"])
GraphSpawnsOf = Annotated[GraphSpawns, Depends(of(GraphSpawns))]
GraphsOf = Annotated[Graphs, Depends(of(Graphs))]
Detail = Annotated[str, Query(max_length=1_000, description="What is kept beside the state.")]


async def _names_once(request: Request) -> None:
    """Refuse a body in which a key stands twice: of two tasks of one name a JSON reader would see only one."""
    twice: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        read = dict(pairs)
        if len(read) < len(pairs):
            twice.extend(sorted(name for name, times in Counter(name for name, _ in pairs).items() if times > 1))
        return read

    try:
        json.loads(await request.body(), object_pairs_hook=note)
    except (ValueError, RecursionError):
        return
    if twice:
        raise Invalid("tasks", f"has more than one `{twice[0][:100]}`")


@router.post(
    "/graphs",
    operation_id="make_graph",
    status_code=201,
    dependencies=[WORK, Depends(_names_once)],
    response_model_exclude_none=True,
)
async def make_graph(caller: CallerOf, graphs: GraphsOf, body: GraphBody) -> GraphModel:
    """Make a task graph of a session of yours, whole or not at all."""
    return GraphModel.of(await graphs.make(caller.principal, body.new(caller.project)))


@router.get("/graphs", operation_id="list_graphs", response_model_exclude_none=True)
async def list_graphs(
    caller: CallerOf,
    graphs: GraphsOf,
    session_id: Text = "",
    user: Text = "",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> GraphPage:
    """List task graphs, the newest first."""
    (before_id,) = after(cursor)
    found = await graphs.find(caller.principal, session_id=session_id, user=user, before_id=before_id, limit=limit + 1)
    items, next_cursor = page(found, limit, lambda one: (one.id,))
    return GraphPage(items=[GraphModel.of(one) for one in items], next_cursor=next_cursor)


@router.get("/graphs/{graph_id}", operation_id="get_graph", response_model_exclude_none=True)
async def get_graph(caller: CallerOf, graphs: GraphsOf, graph_id: str) -> GraphModel:
    """Show a task graph, with the plan of each task that was started."""
    return GraphModel.of(await graphs.get(caller.principal, graph_id), plans=True)


@router.post(
    "/graphs/{graph_id}/spawn", operation_id="spawn_task", dependencies=[WORK], response_model_exclude_none=True
)
async def spawn_task(
    caller: CallerOf, graph_spawns: GraphSpawnsOf, arrived: ArrivedAt, graph_id: str, body: TaskSpawnBody
) -> SpawnModel:
    """Start one task: judged as by `/spawn`, and then by its wave."""
    if body.graph_id not in {"", graph_id}:
        raise Invalid("graph_id", f"is `{body.graph_id}`, and the path names `{graph_id}`")
    start = asked(caller, body.model_dump(exclude={"task", "graph_id"}), in_graph=True)
    _, spawned = await graph_spawns.spawn(caller.principal, graph_id, body.task, start, arrived=arrived)
    return SpawnModel.of(spawned, graph_id)


@router.post(
    "/graphs/{graph_id}/spawn:batch", operation_id="spawn_tasks", dependencies=[WORK], response_model_exclude_none=True
)
async def spawn_tasks(
    caller: CallerOf, graph_spawns: GraphSpawnsOf, arrived: ArrivedAt, graph_id: str, body: BatchBody
) -> BatchModel:
    """Start tasks at one moment, all or none: a whole wave, with a spread of 0 ms."""
    common = body.model_dump(exclude={"tasks"}, exclude_unset=True)
    start = asked(caller, common, in_graph=True)
    each = {
        name: asked(caller, common | one.model_dump(exclude_unset=True), in_graph=True)
        for name, one in (body.tasks or {}).items()
    }
    stored, spawned = await graph_spawns.batch(caller.principal, graph_id, each or start, arrived=arrived)
    return BatchModel(graph=GraphModel.of(stored), spawned=[SpawnModel.of(one, graph_id) for one in spawned])


@router.post(
    "/graphs/{graph_id}/tasks/{name}/complete",
    operation_id="complete_task",
    dependencies=[WORK],
    response_model_exclude_none=True,
)
async def complete_task(
    caller: CallerOf, graphs: GraphsOf, graph_id: str, name: str, detail: Detail = ""
) -> GraphModel:
    """Say that a task that does not run here is done."""
    return GraphModel.of(await graphs.end(caller.principal, graph_id, name, "completed", detail))


@router.post(
    "/graphs/{graph_id}/tasks/{name}/fail",
    operation_id="fail_task",
    dependencies=[WORK],
    response_model_exclude_none=True,
)
async def fail_task(caller: CallerOf, graphs: GraphsOf, graph_id: str, name: str, detail: Detail = "") -> GraphModel:
    """Give a task up that does not run here; what depends on it is skipped."""
    return GraphModel.of(await graphs.end(caller.principal, graph_id, name, "failed", detail))


@router.post(
    "/graphs/{graph_id}/waves/{wave}/reopen",
    operation_id="reopen_wave",
    dependencies=[WORK],
    response_model_exclude_none=True,
)
async def reopen_wave(caller: CallerOf, graphs: GraphsOf, graph_id: str, wave: int) -> GraphModel:
    """Open a wave (from 1) again whose window closed with tasks left; it is recorded as a violation."""
    return GraphModel.of(await graphs.reopen(caller.principal, graph_id, wave))


@router.get("/graphs/{graph_id}/compliance", operation_id="get_graph_compliance", response_model_exclude_none=True)
async def get_graph_compliance(caller: CallerOf, graphs: GraphsOf, graph_id: str) -> ComplianceModel:
    """Report on a graph's waves: their spread, and what was broken."""
    return ComplianceModel.of(await graphs.report(caller.principal, graph_id))


@router.get(
    "/sessions/{session_id}/compliance",
    operation_id="get_session_compliance",
    dependencies=[EXPENSIVE],
    response_model_exclude_none=True,
)
async def get_session_compliance(
    caller: CallerOf, graphs: GraphsOf, session_id: str, user: Text = ""
) -> SessionComplianceModel:
    """Report on all graphs of a session; yours without `user`."""
    return SessionComplianceModel.of(session_id, await graphs.session_report(caller.principal, session_id, user))
