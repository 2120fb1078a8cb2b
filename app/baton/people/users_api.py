"""`/users`: the organisation's users."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel, request_body
from baton.kernel.http.paging import Cursor, IfMatch, Limit, Text, after, etag, page
from baton.people.callers import CallerOf
from baton.people.directory import User
from baton.people.rate_limits import ADMIN
from baton.people.users import Users, version_of

router = APIRouter(tags=["users"])
UsersOf = Annotated[Users, Depends(of(Users))]
Reason = Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")]
Name = Annotated[str, Path(max_length=200)]


ShownUser = Annotated[User, ApiModel(blank=("account",))]


class UserBody(BaseModel):
    """Changes to a user."""

    model_config = request_body({"team": "shop", "reason": "joined the team"}, longest=1_000)

    team: str = Field(
        "", max_length=200, description="Their team, one of `GET /teams`. Default: unchanged, or the server's default."
    )
    disabled: bool | None = Field(None, description="Whether their tokens are refused. Default: unchanged.")
    role: Literal["", "developer", "lead", "admin", "auditor"] = Field(
        "", description="Their role with their company's account. Default: unchanged, or `developer`."
    )
    forget_account: bool = Field(
        default=False, description="Unbind their account and sign it out. The next account of their name is bound."
    )
    reason: str = ""


class UsersModel(BaseModel):
    """The users visible to you, by name. `next_cursor` is absent on the last page."""

    items: list[ShownUser]
    next_cursor: str | None = None


@router.get("/users", response_model_exclude_none=True)
async def list_users(
    caller: CallerOf, users: UsersOf, team: Text = "", cursor: Cursor = "", limit: Limit = 50
) -> UsersModel:
    """List users: yourself, your team's as its lead, or all."""
    (last,) = after(cursor)
    found = [user for user in users.visible(caller.principal) if user.name > last and team in {"", user.team}]
    items, next_cursor = page(found[: limit + 1], limit, lambda user: (user.name,))
    return UsersModel(items=list(items), next_cursor=next_cursor)


@router.get("/users/{name}", response_model_exclude_none=True)
async def get_user(caller: CallerOf, users: UsersOf, response: Response, name: Name) -> ShownUser:
    """Show a user."""
    user = users.get(caller.principal, name)
    response.headers["ETag"] = etag(version_of(user))
    return user


@router.put("/users/{name}", response_model_exclude_none=True, dependencies=[ADMIN])
async def put_user(
    caller: CallerOf, users: UsersOf, response: Response, name: Name, body: UserBody, if_match: IfMatch = None
) -> ShownUser:
    """Create or change a user. `If-Match` may be the `ETag` of the user."""
    user = await users.put_user(caller.principal, name, **body.model_dump(), if_match=if_match)
    response.headers["ETag"] = etag(version_of(user))
    return user


@router.delete("/users/{name}", status_code=204, dependencies=[ADMIN])
async def delete_user(caller: CallerOf, users: UsersOf, name: Name, reason: Reason = "") -> Response:
    """Remove a user from the directory: their tokens are refused. Stored data about them remains."""
    await users.remove_user(caller.principal, name, reason)
    return Response(status_code=204)
