"""`/inventory`: your clients' agents, sent by the shim at session start after changes."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query
from pydantic import BaseModel

from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.http.features import of
from baton.kernel.redis.client import RedisUnavailable
from baton.machines.inventories import Inventories
from baton.machines.inventory import LARGEST
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK
from baton.people.users import require
from baton.rules.call.call import Source

router = APIRouter(tags=["clients"])
InventoriesOf = Annotated[Inventories, Depends(of(Inventories))]
_AWAY = "Redis is unavailable; the agents are reported again at the next session start"


class InventoryAgentModel(BaseModel):
    """An agent as described by its file. `model` is absent without one."""

    name: str
    source: Source
    model: str | None = None
    description: str


class InventoryModel(BaseModel):
    """The agents of your client at the latest session start in a project."""

    client: str
    project: str
    agents: list[InventoryAgentModel]


class InventoryStoredModel(BaseModel):
    """The number of parsed agents."""

    agents: int


@router.put("/inventory/{client}", dependencies=[WORK])
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
            json_schema_extra={"format": "binary"},  # generated clients send a file unchanged
            description="`= SOURCE FILE` for each file, and the lines of its front matter, each after a space.",
        ),
    ],
) -> InventoryStoredModel:
    """Store a client's agents: names, descriptions and models from their files, never the bodies."""
    require(caller.principal, "calls.make")
    try:
        stored = await inventories.put(caller.principal, client, checksum, text)
    except RedisUnavailable:
        raise StoreUnavailable(_AWAY) from None
    return InventoryStoredModel(agents=len(stored.agents))


@router.get("/inventory", response_model_exclude_none=True)
async def list_inventories(caller: CallerOf, inventories: InventoriesOf) -> list[InventoryModel]:
    """List your own clients' agents. Nobody else sees them."""
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
