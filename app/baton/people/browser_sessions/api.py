"""`/session`, `/me`: how a browser signs in and out, and who a request speaks for."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from baton.kernel.base.errors import Conflict
from baton.kernel.http.cookies import set_cookie
from baton.kernel.http.features import of
from baton.people.browser_sessions.service import LASTS, BrowserSessions
from baton.people.callers import CallerOf
from baton.people.permissions import TABLE, Reach, reach
from baton.people.rate_limits import ADMIN, SIGN_IN
from baton.people.tokens import Tokens

router = APIRouter(tags=["console"])
BrowserSessionsOf = Annotated[BrowserSessions, Depends(of(BrowserSessions))]
TokensOf = Annotated[Tokens, Depends(of(Tokens))]
Authorization = Annotated[str, Header(include_in_schema=False)]
SIGN_IN_PATH = "/ui/sign-in"
"""The page that posts a link's code."""
SIGN_IN_CALL = "/session"
"""What it posts to: the one change that needs no token."""


class SignInBody(BaseModel):
    """One of the two ways to sign a browser in."""

    model_config = ConfigDict(
        extra="forbid",
        str_max_length=500,
        json_schema_extra={"examples": [{"code": "0f" * 32}]},
    )

    code: str = Field("", description="The code of a link, which is good once.")
    token: str = Field("", description="A token of a person.")

    @model_validator(mode="after")
    def _one_of_them(self) -> "SignInBody":
        if bool(self.code) == bool(self.token):
            raise ValueError("give `code` or `token`, and not both")
        return self


class BrowserSessionModel(BaseModel):
    """A signed-in browser."""

    user: str
    expires_at: datetime


class BrowserModel(BaseModel):
    """A browser that is signed in."""

    id: str
    user: str
    role: str
    by: Literal["token", "account", "link"] = Field(
        description="What signed it in: a token (or a link that was made with one), the company's account, or a link."
    )
    token_id: str | None = Field(None, description="The token that it ends with; absent for none.")
    created_at: datetime
    expires_at: datetime
    current: bool = Field(description="Whether it is the browser that asks.")


class BrowsersModel(BaseModel):
    """The browsers that are signed in, the newest first."""

    items: list[BrowserModel]


class SignInLinkModel(BaseModel):
    """A link to sign a browser in with, as a path on this server; its code is behind the `#`, so that no log sees it."""

    path: str
    expires_at: datetime


class MeModel(BaseModel):
    """Whom a request speaks for, and how far each of their rights reaches."""

    organisation: str
    team: str
    user: str
    role: str
    person: bool = Field(description="False for the credential of hooks and agents.")
    rights: dict[str, Reach] = Field(description="What they may do, and to whose things.")
    signed_in_until: datetime | None = Field(None, description="Until when the browser is signed in that asks.")


@router.post("/session/links", operation_id="create_sign_in_link", status_code=201, dependencies=[ADMIN])
async def create_sign_in_link(
    caller: CallerOf,
    browsers: BrowserSessionsOf,
    tokens: TokensOf,
    response: Response,
    authorization: Authorization = "",
) -> SignInLinkModel:
    """Make a link that signs a browser in as you, once, within five minutes."""
    text = _bearer(authorization)
    session = browsers.of(text)
    # A browser's link ends with the token that signed the browser in, or revoking that token would not end it.
    token_id = tokens.id_of(text) if session is None else session.token_id
    if session is not None and session.account:
        # Nothing would end a chain of such links: the provider is asked only when somebody signs in there.
        raise Conflict(
            "you are signed in with your account, which makes no links; sign in with it in the other browser too"
        )
    made = await browsers.link(caller.principal, token_id)
    response.headers["Cache-Control"] = "no-store"
    return SignInLinkModel(path=f"{SIGN_IN_PATH}#{made.code}", expires_at=made.expires_at)


@router.post(SIGN_IN_CALL, operation_id="sign_in", status_code=201, dependencies=[SIGN_IN])
async def sign_in(
    browsers: BrowserSessionsOf, request: Request, response: Response, body: SignInBody
) -> BrowserSessionModel:
    """Sign this browser in, by the code of a link or by a token; the answer sets a cookie."""
    session, text = await (browsers.begin(body.code) if body.code else browsers.begin_with_token(body.token))
    response.headers["Set-Cookie"] = set_cookie(
        host_of(request), text, secure=is_secure(request), max_age_s=int(LASTS.total_seconds())
    )
    response.headers["Cache-Control"] = "no-store"
    return BrowserSessionModel(user=session.user, expires_at=session.expires_at.astimezone(UTC))


@router.delete("/session", operation_id="sign_out", status_code=204)
async def sign_out(
    caller: CallerOf, browsers: BrowserSessionsOf, request: Request, authorization: Authorization = ""
) -> Response:
    """Sign this browser out."""
    session = browsers.of(_bearer(authorization))
    if session is None:
        raise Conflict("no browser is signed in by this request")
    await browsers.end(session, caller.principal)
    gone = set_cookie(host_of(request), "", secure=is_secure(request), max_age_s=0)
    return Response(status_code=204, headers={"Set-Cookie": gone})


@router.get("/session/browsers", operation_id="list_browsers", response_model_exclude_none=True)
async def list_browsers(
    caller: CallerOf, browsers: BrowserSessionsOf, authorization: Authorization = ""
) -> BrowsersModel:
    """List the browsers that are signed in: your own; for admins and auditors all."""
    own = browsers.of(_bearer(authorization))
    return BrowsersModel(
        items=[
            BrowserModel(
                id=one.id,
                user=one.user,
                role=one.role,
                by="token" if one.token_id else "account" if one.account else "link",
                token_id=one.token_id or None,
                created_at=one.created_at.astimezone(UTC),
                expires_at=one.expires_at.astimezone(UTC),
                current=own is not None and own.id == one.id,
            )
            for one in browsers.find(caller.principal)
        ]
    )


@router.delete("/session/browsers/{browser_id}", operation_id="sign_browser_out", status_code=204, dependencies=[ADMIN])
async def sign_browser_out(
    caller: CallerOf,
    browsers: BrowserSessionsOf,
    browser_id: str,
    reason: Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")] = "",
) -> Response:
    """Sign a browser out from elsewhere; on every server within a second."""
    await browsers.revoke(caller.principal, browser_id, reason)
    return Response(status_code=204)


@router.get("/me", operation_id="get_me", response_model_exclude_none=True)
async def get_me(
    caller: CallerOf, browsers: BrowserSessionsOf, response: Response, authorization: Authorization = ""
) -> MeModel:
    """Show whom this request speaks for, and what they may do."""
    principal = caller.principal
    session = browsers.of(_bearer(authorization))
    response.headers["Cache-Control"] = "no-store"
    return MeModel(
        organisation=principal.organisation,
        team=principal.team,
        user=principal.user,
        role=principal.role,
        person=not principal.agent,
        rights={action: found for action in TABLE if (found := reach(principal, action)) is not None},
        signed_in_until=session and session.expires_at.astimezone(UTC),
    )


def _bearer(authorization: str) -> str:
    return authorization.partition(" ")[2].strip()


def host_of(request: Request) -> str:
    """Return the name and port by which the server was asked."""
    return request.headers.get("host", "")


def is_secure(request: Request) -> bool:
    """Return whether the page came over HTTPS, which a proxy in front may speak: its `Origin` says so."""
    return request.headers.get("origin", "").startswith("https://") or request.url.scheme == "https"
