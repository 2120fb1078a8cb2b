"""`POST|GET /tokens`, `DELETE /tokens/{id}`: access tokens. A token's text is shown once."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import Moment, request_body
from baton.kernel.http.paging import Cursor, Limit, after, page
from baton.people.callers import CallerOf
from baton.people.directory import Token
from baton.people.rate_limits import ADMIN
from baton.people.tokens import Tokens
from baton.people.users import Role

router = APIRouter(tags=["tokens"])
TokensOf = Annotated[Tokens, Depends(of(Tokens))]
Text = Annotated[str, Query(max_length=1_000)]


class TokenBody(BaseModel):
    """A token to create."""

    model_config = request_body(
        {"user": "ada", "role": "developer", "team": "shop", "expires_at": "2100-01-05T09:30:00Z",
        "reason": "a new laptop"}, longest=200
    )  # fmt: skip

    user: str = Field(min_length=1, description="Its user, added to the directory if unknown.")
    role: Role = "developer"
    team: str = Field("", description="A new user's team, one of `GET /teams`. Default: your own.")
    expires_at: Moment | None = Field(None, description="Its expiry. Default: never.")
    reason: str = Field("", description="Why; it is kept in the audit log.")


class TokenModel(BaseModel):
    """A token without its secret."""

    id: str
    user: str
    team: str | None = Field(None, description="The team of the user; absent if they were removed.")
    role: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    machine: str | None = Field(None, description="The machine of a hook token; absent for other tokens.")

    @classmethod
    def build(cls, token: Token, team: str) -> "TokenModel":
        """Convert a token, with its user's team."""
        fields = {name: getattr(token, name) for name in cls.model_fields if name != "team"} | {
            "machine": token.machine or None
        }
        return cls(**fields, team=team or None)


class HookTokenBody(BaseModel):
    """A token for the hooks of one of your machines."""

    model_config = request_body({"machine": "ada-laptop"})

    machine: str = Field(min_length=1, max_length=200, description="The machine's name, to distinguish your tokens.")


class NewTokenModel(BaseModel):
    """A new token. `text` is shown only here."""

    token: TokenModel
    text: str


class TokensModel(BaseModel):
    """Tokens, newest first. `next_cursor` is absent on the last page."""

    items: list[TokenModel]
    next_cursor: str | None = None


@router.post("/tokens", status_code=201, response_model_exclude_none=True, dependencies=[ADMIN])
async def create_token(caller: CallerOf, tokens: TokensOf, response: Response, body: TokenBody) -> NewTokenModel:
    """Create a token. Its text is shown only in this response."""
    token, text = await tokens.create(
        caller.principal, user=body.user, role=body.role, team=body.team, expires_at=body.expires_at, reason=body.reason
    )
    response.headers["Cache-Control"] = "no-store"
    return NewTokenModel(token=TokenModel.build(token, tokens.team_of(token)), text=text)


@router.post("/tokens/hook", status_code=201, response_model_exclude_none=True, dependencies=[ADMIN])
async def create_hook_token(
    caller: CallerOf, tokens: TokensOf, response: Response, body: HookTokenBody
) -> NewTokenModel:
    """Create a `hook` token for yourself: it posts a machine's events and cannot weaken rules."""
    token, text = await tokens.create_for_hooks(caller.principal, body.machine)
    response.headers["Cache-Control"] = "no-store"
    return NewTokenModel(token=TokenModel.build(token, tokens.team_of(token)), text=text)


@router.get("/tokens", response_model_exclude_none=True)
async def list_tokens(
    caller: CallerOf, tokens: TokensOf, user: Text = "", cursor: Cursor = "", limit: Limit = 50
) -> TokensModel:
    """List tokens with their last use, including revoked and expired ones."""
    found = await tokens.list_tokens(caller.principal, user=user)
    last = after(cursor, 2)
    rest = [token for token in found if not cursor or _place(token) < last]
    items, next_cursor = page(rest[: limit + 1], limit, _place)
    return TokensModel(
        items=[TokenModel.build(token, tokens.team_of(token)) for token in items], next_cursor=next_cursor
    )


def _place(token: Token) -> tuple[str, str]:
    return (token.created_at.astimezone(UTC).isoformat(timespec="microseconds"), token.id)


@router.delete("/tokens/{token_id}", status_code=204, dependencies=[ADMIN])
async def revoke_token(caller: CallerOf, tokens: TokensOf, token_id: str, reason: Text = "") -> Response:
    """Revoke a token, on every server within a second."""
    await tokens.revoke(caller.principal, token_id, reason)
    return Response(status_code=204)
