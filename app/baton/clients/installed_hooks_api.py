"""`/clients/{client}/hooks`: `baton hooks install` tells whose hooks it has installed, `uninstall` that they are gone."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel

from baton.clients.installed_hooks import InstalledHooks
from baton.clients.registry import known_client
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.permissions import require
from baton.people.rate_limits import WORK

router = APIRouter(tags=["clients"])
InstalledHooksOf = Annotated[InstalledHooks, Depends(of(InstalledHooks))]
ClientName = Annotated[str, Path(max_length=100, examples=["claude-code"])]


class HooksInstalledModel(BaseModel):
    """Your hooks in a client, and when they were last installed."""

    user: str
    client: str
    installed_at: datetime


@router.put("/clients/{client}/hooks", operation_id="put_client_hooks", dependencies=[WORK])
async def put_client_hooks(caller: CallerOf, hooks: InstalledHooksOf, client: ClientName) -> HooksInstalledModel:
    """Note that your hooks are installed in a client; `/status` tells if they are never heard of."""
    require(caller.principal, "clients.report")
    found = await hooks.note(caller.principal, known_client(client).name)
    return HooksInstalledModel.model_validate(found, from_attributes=True)


@router.delete("/clients/{client}/hooks", operation_id="delete_client_hooks", status_code=204, dependencies=[WORK])
async def delete_client_hooks(caller: CallerOf, hooks: InstalledHooksOf, client: ClientName) -> None:
    """Note that your hooks were removed from a client, also if they were never noted."""
    require(caller.principal, "clients.report")
    await hooks.forget(caller.principal, known_client(client).name)
