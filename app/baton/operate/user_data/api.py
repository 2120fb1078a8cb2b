"""`/users/{name}/export` and `/users/{name}/data`: export and deletion of a user's stored data."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from baton.kernel.http.features import of
from baton.kernel.http.serving.hot_routes import encode
from baton.operate.user_data.service import UserData
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.people.users_api import Name, Reason

router = APIRouter(tags=["users"])
UserDataOf = Annotated[UserData, Depends(of(UserData))]


class KeptModel(BaseModel):
    """Everything stored about a user: rows by table name, the user's changes (`audit`), and `events` on the bus.

    Events with whole prompts and file contents are only part of your own export.
    """

    user: str
    exported_at: datetime
    kept: dict[str, list[dict[str, object]]]


class DeletedModel(BaseModel):
    """The number of deleted rows of each table."""

    deleted: dict[str, int]


@router.get("/users/{name}/export", response_model=KeptModel, dependencies=[EXPENSIVE])
async def export_user(caller: CallerOf, user_data: UserDataOf, name: Name) -> StreamingResponse:
    """Export all stored data of a user."""
    parts = await user_data.export(caller.principal, name)

    async def body() -> AsyncIterator[bytes]:
        yield b'{"user":%b,"exported_at":%b,"kept":{' % (encode(name), encode(parts.at))
        async for part in parts.rows(encode):
            yield part
        yield b"}}"

    return StreamingResponse(body(), media_type="application/json")


@router.delete("/users/{name}/data", dependencies=[ADMIN])
async def delete_user_data(caller: CallerOf, user_data: UserDataOf, name: Name, reason: Reason = "") -> DeletedModel:
    """Delete a user's decisions, events, sessions, modes and clients. Tokens and audit entries stay.

    Events sent to a webhook, Kafka or a file cannot be deleted.
    """
    return DeletedModel(deleted=await user_data.delete(caller.principal, name, reason))
