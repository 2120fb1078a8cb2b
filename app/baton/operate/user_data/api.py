"""`/users/{name}/export` and `/users/{name}/data`: exports and deletes what is stored about a user."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from baton.kernel.http.features import of
from baton.kernel.http.json_io import encode
from baton.operate.user_data.service import UserData
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.people.users_api import Name, Reason

router = APIRouter(tags=["users"])
UserDataOf = Annotated[UserData, Depends(of(UserData))]


class KeptModel(BaseModel):
    """Everything stored about a user: rows by the name of their table, the user's changes (`audit`), and `events` on the bus.

    Events with whole prompts and contents of files are part of your own export alone.
    """

    user: str
    exported_at: datetime
    kept: dict[str, list[dict[str, object]]]


class DeletedModel(BaseModel):
    """How many rows of each table were deleted."""

    deleted: dict[str, int]


@router.get(
    "/users/{name}/export",
    operation_id="export_user",
    response_model=KeptModel,
    dependencies=[EXPENSIVE],
)
async def export_user(caller: CallerOf, user_data: UserDataOf, name: Name) -> StreamingResponse:
    """Export everything that is stored about a user."""
    parts = await user_data.export(caller.principal, name)

    async def body() -> AsyncIterator[bytes]:
        yield b'{"user":%b,"exported_at":%b,"kept":{' % (encode(name), encode(parts.at))
        async for part in parts.rows(encode):
            yield part
        yield b"}}"

    return StreamingResponse(body(), media_type="application/json")


@router.delete("/users/{name}/data", operation_id="delete_user_data", dependencies=[ADMIN])
async def delete_user_data(caller: CallerOf, user_data: UserDataOf, name: Name, reason: Reason = "") -> DeletedModel:
    """Delete a user's decisions, events, sessions, modes and clients. Tokens and audit entries stay.

    Events that were sent on, to a webhook, Kafka or a file, are out of reach.
    """
    return DeletedModel(deleted=await user_data.delete(caller.principal, name, reason))
