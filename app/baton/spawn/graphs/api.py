"""`/graphs`: tasks with dependencies, started wave by wave."""

import json
from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.kernel.http.paging import Text, after, page
from baton.people.callers import ArrivedAt, CallerOf
from baton.people.rate_limits import EXPENSIVE, WORK
from baton.spawn.bodies import ShownStart, Started, spawn_request
from baton.spawn.graphs import bodies
from baton.spawn.graphs.service import Graphs
from baton.spawn.graphs.starts import GraphSpawns

router = APIRouter(tags=["graphs"])
GraphSpawnsOf = Annotated[GraphSpawns, Depends(of(GraphSpawns))]
GraphsOf = Annotated[Graphs, Depends(of(Graphs))]
Detail = Annotated[str, Query(max_length=1_000, description="A note stored with the state.")]


async def _names_once(request: Request) -> None:
    """Refuse a body with duplicate keys: of two tasks with one name, a JSON parser returns only the last."""
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


@router.post("/graphs", status_code=201, dependencies=[WORK, Depends(_names_once)], response_model_exclude_none=True)
async def make_graph(caller: CallerOf, graphs: GraphsOf, body: bodies.GraphBody) -> bodies.GraphModel:
    """Make a task graph for a session of yours; if one task is invalid, nothing is made."""
    return bodies.GraphModel.build(await graphs.make(caller.principal, body.new(caller.project)))


@router.get("/graphs", response_model_exclude_none=True)
async def list_graphs(
    caller: CallerOf, graphs: GraphsOf, query: Annotated[bodies.GraphsQuery, Query()]
) -> bodies.GraphPage:
    """List task graphs, the newest first."""
    (before_id,) = after(query.cursor)
    found = await graphs.find(caller.principal, before_id=before_id, limit=query.limit + 1, **query.filters())
    items, next_cursor = page(found, query.limit, lambda one: (one.id,))
    return bodies.GraphPage(items=[bodies.GraphModel.build(one) for one in items], next_cursor=next_cursor)


@router.get("/graphs/{graph_id}", response_model_exclude_none=True)
async def get_graph(caller: CallerOf, graphs: GraphsOf, graph_id: str) -> bodies.GraphModel:
    """Show a task graph, with the plan of each started task."""
    return bodies.GraphModel.build(await graphs.get(caller.principal, graph_id), plans=True)


@router.post("/graphs/{graph_id}/spawn", dependencies=[WORK], response_model_exclude_none=True)
async def spawn_task(
    caller: CallerOf, graph_spawns: GraphSpawnsOf, arrived: ArrivedAt, graph_id: str, body: bodies.TaskSpawnBody
) -> ShownStart:
    """Start one task: it is judged as by `/spawn`, and then by its wave."""
    if body.graph_id not in {"", graph_id}:
        raise Invalid("graph_id", f"is `{body.graph_id}`, and the path names `{graph_id}`")
    request = spawn_request(caller, body.model_dump(exclude={"task", "graph_id"}), in_graph=True)
    _, result = await graph_spawns.spawn(caller.principal, graph_id, body.task, request, arrived=arrived)
    return Started.of(result, graph_id)


@router.post("/graphs/{graph_id}/spawn:batch", dependencies=[WORK], response_model_exclude_none=True)
async def spawn_tasks(
    caller: CallerOf, graph_spawns: GraphSpawnsOf, arrived: ArrivedAt, graph_id: str, body: bodies.BatchBody
) -> bodies.BatchModel:
    """Start tasks simultaneously, all or none: a whole wave with a spread of 0 ms."""
    common = body.model_dump(exclude={"tasks"}, exclude_unset=True)
    request = spawn_request(caller, common, in_graph=True)
    each = {
        name: spawn_request(caller, common | one.model_dump(exclude_unset=True), in_graph=True)
        for name, one in (body.tasks or {}).items()
    }
    stored, results = await graph_spawns.batch(caller.principal, graph_id, each or request, arrived=arrived)
    return bodies.BatchModel(
        graph=bodies.GraphModel.build(stored), spawned=[Started.of(one, graph_id) for one in results]
    )


@router.post("/graphs/{graph_id}/tasks/{name}/complete", dependencies=[WORK], response_model_exclude_none=True)
async def complete_task(
    caller: CallerOf, graphs: GraphsOf, graph_id: str, name: str, detail: Detail = ""
) -> bodies.GraphModel:
    """Complete a task without a job."""
    return bodies.GraphModel.build(await graphs.end(caller.principal, graph_id, name, "completed", detail))


@router.post("/graphs/{graph_id}/tasks/{name}/fail", dependencies=[WORK], response_model_exclude_none=True)
async def fail_task(
    caller: CallerOf, graphs: GraphsOf, graph_id: str, name: str, detail: Detail = ""
) -> bodies.GraphModel:
    """Fail a task without a job; its dependent tasks are skipped."""
    return bodies.GraphModel.build(await graphs.end(caller.principal, graph_id, name, "failed", detail))


@router.post("/graphs/{graph_id}/waves/{wave}/reopen", dependencies=[WORK], response_model_exclude_none=True)
async def reopen_wave(caller: CallerOf, graphs: GraphsOf, graph_id: str, wave: int) -> bodies.GraphModel:
    """Reopen a wave (from 1) with unstarted tasks after its window closed; it is recorded as a violation."""
    return bodies.GraphModel.build(await graphs.reopen(caller.principal, graph_id, wave))


@router.get("/graphs/{graph_id}/compliance", response_model_exclude_none=True)
async def get_graph_compliance(caller: CallerOf, graphs: GraphsOf, graph_id: str) -> bodies.ComplianceModel:
    """Show the compliance of a graph's waves: their spread, and the violations."""
    return bodies.ComplianceModel.build(await graphs.compliance(caller.principal, graph_id))


@router.get("/sessions/{session_id}/compliance", dependencies=[EXPENSIVE], response_model_exclude_none=True)
async def get_session_compliance(
    caller: CallerOf, graphs: GraphsOf, session_id: str, user: Text = ""
) -> bodies.SessionComplianceModel:
    """Show the compliance of all graphs of a session; yours without `user`."""
    return bodies.SessionComplianceModel.build(
        session_id, await graphs.session_compliance(caller.principal, session_id, user)
    )
