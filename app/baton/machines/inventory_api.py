"""`/inventory`: your clients' agents, sent by the shim at session start after changes."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query
from pydantic import BaseModel

from baton.kernel.base.sql import StoreErrors
from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel
from baton.machines.inventories import Inventories, InventoryView
from baton.machines.inventory import LARGEST
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK
from baton.people.users import require
from baton.rules.call.call import OwnAgent

router = APIRouter(tags=["clients"])
InventoriesOf = Annotated[Inventories, Depends(of(Inventories))]
_AWAY = "Redis is unavailable; the agents are reported again at the next session start"


ShownAgent = Annotated[OwnAgent, ApiModel("InventoryAgentModel", without=("path",), blank=("model",))]
ShownInventory = Annotated[InventoryView, ApiModel("InventoryModel", without=("inventory",), agents=list[ShownAgent])]


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
    with StoreErrors(_AWAY):
        stored = await inventories.put(caller.principal, client, checksum, text)
    return InventoryStoredModel(agents=len(stored.agents))


@router.get("/inventory", response_model_exclude_none=True)
async def list_inventories(caller: CallerOf, inventories: InventoriesOf) -> list[ShownInventory]:
    """List your own clients' agents. Nobody else sees them."""
    require(caller.principal, "inventory.read")
    with StoreErrors(_AWAY):
        return await inventories.of_user(caller.principal)
