"""`POST /spawn`: judges and plans the start of an agent; with `execute: run` also starts it."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.machines.session_projects import SessionProjects
from baton.people.callers import ArrivedAt, CallerOf
from baton.people.rate_limits import WORK
from baton.spawn.bodies import ShownStart, SpawnBody, Started, spawn_request
from baton.spawn.graphs.starts import GraphSpawns
from baton.spawn.service import Spawns

router = APIRouter(tags=["spawn"])
GraphSpawnsOf = Annotated[GraphSpawns, Depends(of(GraphSpawns))]
SpawnsOf = Annotated[Spawns, Depends(of(Spawns))]
SessionProjectsOf = Annotated[SessionProjects, Depends(of(SessionProjects))]


@router.post("/spawn", dependencies=[WORK], response_model_exclude_none=True)
async def spawn(
    caller: CallerOf,
    graph_spawns: GraphSpawnsOf,
    spawns: SpawnsOf,
    projects: SessionProjectsOf,
    arrived: ArrivedAt,
    body: SpawnBody,
) -> ShownStart:
    """Judge the start of an agent and return its plan; with `execute: run` the plan becomes a job.

    The checks, in this order, refuse with the code `unknown_agent`, `missing_metadata` (422), `tool_not_allowed`,
    `hierarchy` (403), and in a task graph `already_spawned`, `wrong_wave`, `parallel_window` (409). The problem
    contains the `given` and the `allowed` values.
    """
    graph_id, task = body.graph_id or "", body.task or ""
    if bool(graph_id) != bool(task):
        field, other = ("task", "graph_id") if graph_id else ("graph_id", "task")
        raise Invalid(field, f"is missing, since `{other}` is given; give both or none")
    request = spawn_request(caller, body.model_dump(exclude={"graph_id", "task"}), in_graph=bool(graph_id))
    if graph_id:
        _, spawned = await graph_spawns.spawn(caller.principal, graph_id, task, request, arrived=arrived)
    else:
        pin = await projects.find(caller.principal, request.session_id)
        if pin is not None:
            request = msgspec.structs.replace(request, project=pin.project)
        spawned = await spawns.spawn(caller.principal, request)
    return Started.of(spawned, graph_id)
