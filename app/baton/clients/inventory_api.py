"""`/inventory`: which agents your clients have. The shim sends it at a session's start, when it has changed."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query
from pydantic import BaseModel

from baton.clients.inventories import Inventories
from baton.clients.inventory import LARGEST
from baton.engine.call.agent_model import Source
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.http.features import of
from baton.kernel.redis.client import RedisUnavailable
from baton.people.callers import CallerOf
from baton.people.permissions import require
from baton.people.rate_limits import WORK

router = APIRouter(tags=["clients"])
InventoriesOf = Annotated[Inventories, Depends(of(Inventories))]
_AWAY = "Redis is away; the agents are told again when a session starts"


class InventoryAgentModel(BaseModel):
    """An agent as its file describes it; `model` is absent where the file names none."""

    name: str
    source: Source
    model: str | None = None
    description: str


class InventoryModel(BaseModel):
    """The agents that a client of yours had when a session last started in a project."""

    client: str
    project: str
    agents: list[InventoryAgentModel]


class InventoryStoredModel(BaseModel):
    """How many agents were read."""

    agents: int


@router.put("/inventory/{client}", operation_id="put_inventory", dependencies=[WORK])
async def put_inventory(
    caller: CallerOf,
    inventories: InventoriesOf,
    client: Annotated[str, Path(max_length=100)],
    checksum: Annotated[
        str, Query(pattern=r"^[0-9]{1,10}-[0-9]{1,10}$", description="As the session's start named it.")
    ],
    text: Annotated[
        str,
        Body(
            media_type="application/octet-stream",
            max_length=LARGEST,
            json_schema_extra={"format": "binary"},  # the generated clients send a file as it is
            description="`= SOURCE FILE` for each file, and the lines of its front matter, each after a space.",
        ),
    ],
) -> InventoryStoredModel:
    """Store which agents a client has: names, descriptions and models of their files, never the bodies."""
    require(caller.principal, "calls.make")
    try:
        stored = await inventories.put(caller.principal, client, checksum, text)
    except RedisUnavailable:
        raise StoreUnavailable(_AWAY) from None
    return InventoryStoredModel(agents=len(stored.agents))


@router.get("/inventory", operation_id="list_inventories", response_model_exclude_none=True)
async def list_inventories(caller: CallerOf, inventories: InventoriesOf) -> list[InventoryModel]:
    """List the agents that your own clients have; nobody else sees them."""
    require(caller.principal, "inventory.read")
    try:
        found = await inventories.of_user(caller.principal)
    except RedisUnavailable:
        raise StoreUnavailable(_AWAY) from None
    return [
        InventoryModel(
            client=one.client,
            project=one.project,
            agents=[
                InventoryAgentModel(
                    name=agent.name, source=agent.source, model=agent.model or None, description=agent.description
                )
                for agent in one.inventory.agents
            ],
        )
        for one in found
    ]
