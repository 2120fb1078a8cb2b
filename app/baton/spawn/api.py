"""`POST /spawn`: whether an agent may be started, and how; with `execute: run`, started. It judges nothing itself."""

from typing import Annotated

from fastapi import APIRouter, Depends

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.people.callers import ArrivedAt, CallerOf
from baton.people.rate_limits import WORK
from baton.spawn.bodies import SpawnBody, SpawnModel, asked
from baton.spawn.graphs.starts import GraphSpawns
from baton.spawn.service import Spawns

router = APIRouter(tags=["spawn"])
GraphSpawnsOf = Annotated[GraphSpawns, Depends(of(GraphSpawns))]
SpawnsOf = Annotated[Spawns, Depends(of(Spawns))]


@router.post("/spawn", operation_id="spawn", dependencies=[WORK], response_model_exclude_none=True)
async def spawn(
    caller: CallerOf, graph_spawns: GraphSpawnsOf, spawns: SpawnsOf, arrived: ArrivedAt, body: SpawnBody
) -> SpawnModel:
    """Judge the start of an agent and answer with its plan; with `execute: run` it becomes a job.

    Refused, in this order, with the code `unknown_agent`, `missing_metadata` (422), `tool_not_allowed`, `hierarchy` (403),
    and in a task graph `already_spawned`, `wrong_wave`, `parallel_window` (409): the problem tells what was `given` and
    what is `allowed`.
    """
    graph_id, task = body.graph_id or "", body.task or ""
    if bool(graph_id) != bool(task):
        field, other = ("task", "graph_id") if graph_id else ("graph_id", "task")
        raise Invalid(field, f"is missing; `{other}` is given")
    start = asked(caller, body.model_dump(exclude={"graph_id", "task"}), in_graph=bool(graph_id))
    if graph_id:
        _, spawned = await graph_spawns.spawn(caller.principal, graph_id, task, start, arrived=arrived)
    else:
        spawned = await spawns.spawn(caller.principal, start)
    return SpawnModel.of(spawned, graph_id)
