"""The tools for task graphs: tasks with dependencies, started in waves."""

from typing import Annotated, Any
from urllib.parse import quote

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, ConfigDict, Field

from baton.mcp.arguments import with_job_arguments
from baton.mcp.client import ServerClient
from baton.mcp.delegation import Roster, Workspace, spawn_summary

GraphId = Annotated[str, Field(min_length=1, description="The graph's id, as `graph_create` gave it.")]
_STATES = ("agent_type", "wave", "state", "job_id", "detail")


class GraphTask(BaseModel):
    """One task of a graph."""

    model_config = ConfigDict(extra="forbid")

    description: str = Field(description="The task; also its agent's prompt if `prompt` is absent.")
    agent_type: str = Field(min_length=1, description="The agent, as the roster calls it.")
    depends_on: list[str] = Field([], description="Names of tasks to wait for.")
    prompt: str = Field("", description="The prompt of its agent.")


def offer(server: MCPServer, baton: ServerClient) -> None:
    """Add the tools to a server."""

    @server.tool(description="Make a graph of named tasks. The tasks of a wave must be started together.")
    async def graph_create(
        tasks: dict[str, GraphTask],
        *,
        strict: Annotated[bool, Field(description="Refuse a start outside its wave; false only counts it.")] = True,
        workspace: Workspace = "",
        roster: Roster = "",
    ) -> dict[str, Any]:
        body = {
            "session_id": baton.session_id,
            "tasks": {name: task.model_dump() for name, task in tasks.items()},
            "strict": strict,
            "execute": "run",
            "workspace": workspace,
            "roster": roster,
        }
        return _shown(await baton.request("POST", "/graphs", body))

    @server.tool(description="Start tasks of a graph at once: the named ones, or all ready ones.")
    @with_job_arguments
    async def graph_spawn(
        graph_id: GraphId,
        tasks: Annotated[list[str], Field(description="Names of tasks of the next wave.")] = [],  # noqa: B006
        spawning_agent: Annotated[str, Field(description="You, as the roster calls you.")] = "",
        delegation_reason: Annotated[str, Field(description="Why you delegate; required of an orchestrator.")] = "",
        expected_outcome: Annotated[str, Field(description="The expected outcome; required of an orchestrator.")] = "",
        required_tools: Annotated[
            list[str], Field(description="The tools they need; required of an orchestrator.")
        ] = [],  # noqa: B006 - the schema's default; nobody changes it
        *,
        arguments: dict[str, Any],
    ) -> dict[str, Any]:
        body: dict[str, Any] = arguments | {
            "spawning_agent": spawning_agent,
            "delegation_reason": delegation_reason,
            "expected_outcome": expected_outcome,
            "required_tools": required_tools,
        }
        if tasks:
            body["tasks"] = {name: {} for name in tasks}
        found = await baton.request("POST", f"/graphs/{quote(graph_id, safe='')}/spawn:batch", body)
        return _shown(found["graph"]) | {"spawned": [spawn_summary(one) for one in found["spawned"]]}

    @server.tool(description="Show a graph's waves and the state of each task.")
    async def graph_status(graph_id: GraphId) -> dict[str, Any]:
        return _shown(await baton.request("GET", f"/graphs/{quote(graph_id, safe='')}"))


def _shown(graph: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a graph for the agent: waves, and the state of each task."""
    tasks = {name: {key: task[key] for key in _STATES if task.get(key)} for name, task in graph["tasks"].items()}
    return {"graph_id": graph["id"], "state": graph["state"], "waves": graph["waves"], "tasks": tasks}
