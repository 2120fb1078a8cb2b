"""`/session`, `/me`: signing browsers in and out, and the caller's identity."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import BaseModel, Field, model_validator

from baton.kernel.base.errors import Conflict
from baton.kernel.http.features import of
from baton.kernel.http.fields import request_body, set_cookie
from baton.people.browser_sessions.service import LASTS, BrowserSessions
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, SIGN_IN
from baton.people.tokens_api import TokensOf
from baton.people.users import TABLE, Reach, reach

router = APIRouter(tags=["console"])
BrowserSessionsOf = Annotated[BrowserSessions, Depends(of(BrowserSessions))]
Authorization = Annotated[str, Header(include_in_schema=False)]
SIGN_IN_PATH = "/ui/sign-in"  # the page that posts a link's code
SIGN_IN_CALL = "/session"  # its endpoint: the only change without a token


class SignInBody(BaseModel):
    """One of the two ways to sign a browser in."""

    model_config = request_body({"code": "0f" * 32}, longest=500)

    code: str = Field("", description="The one-time code of a link.")
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
        description="How it was signed in: by a token (or its link), the company's account, or a link."
    )
    token_id: str | None = Field(None, description="The token of its sign-in, if any; the session ends with it.")
    created_at: datetime
    expires_at: datetime
    current: bool = Field(description="Whether it is the requesting browser.")


class BrowsersModel(BaseModel):
    """The signed-in browsers, newest first."""

    items: list[BrowserModel]


class SignInLinkModel(BaseModel):
    """A sign-in link, as a path on this server. Its code follows the `#`, so that no log contains it."""

    path: str
    expires_at: datetime


class MeModel(BaseModel):
    """The caller's identity and permissions."""

    organisation: str
    team: str
    user: str
    role: str
    person: bool = Field(description="False for the credential of hooks and agents.")
    rights: dict[str, Reach] = Field(description="Permitted actions, and their reach.")
    signed_in_until: datetime | None = Field(None, description="The end of the browser's session.")


@router.post("/session/links", status_code=201, dependencies=[ADMIN])
async def create_sign_in_link(
    caller: CallerOf,
    browsers: BrowserSessionsOf,
    tokens: TokensOf,
    response: Response,
    authorization: Authorization = "",
) -> SignInLinkModel:
    """Create a link that signs a browser in as you, once, within five minutes."""
    text = _bearer(authorization)
    session = browsers.by_token(text)
    # A browser's link ends with the token of its sign-in. Otherwise revoking that token would not end it.
    token_id = tokens.id_of(text) if session is None else session.token_id
    if session is not None and session.account:
        # Such links could be chained without end: the provider is asked only at a sign-in with the account.
        raise Conflict("an account's session cannot create links; sign in with your account in the other browser")
    made = await browsers.link(caller.principal, token_id)
    response.headers["Cache-Control"] = "no-store"
    return SignInLinkModel(path=f"{SIGN_IN_PATH}#{made.code}", expires_at=made.expires_at)


@router.post(SIGN_IN_CALL, status_code=201, dependencies=[SIGN_IN])
async def sign_in(
    browsers: BrowserSessionsOf, request: Request, response: Response, body: SignInBody
) -> BrowserSessionModel:
    """Sign this browser in with a link's code or a token. The response sets a cookie."""
    session, text = await (browsers.begin(body.code) if body.code else browsers.begin_with_token(body.token))
    response.headers["Set-Cookie"] = set_cookie(
        host_of(request), text, secure=is_secure(request), max_age_s=int(LASTS.total_seconds())
    )
    response.headers["Cache-Control"] = "no-store"
    return BrowserSessionModel(user=session.user, expires_at=session.expires_at.astimezone(UTC))


@router.delete("/session", status_code=204)
async def sign_out(
    caller: CallerOf, browsers: BrowserSessionsOf, request: Request, authorization: Authorization = ""
) -> Response:
    """Sign this browser out."""
    session = browsers.by_token(_bearer(authorization))
    if session is None:
        raise Conflict("this request has no browser session")
    await browsers.end(session, caller.principal)
    gone = set_cookie(host_of(request), "", secure=is_secure(request), max_age_s=0)
    return Response(status_code=204, headers={"Set-Cookie": gone})


@router.get("/session/browsers", response_model_exclude_none=True)
async def list_browsers(
    caller: CallerOf, browsers: BrowserSessionsOf, authorization: Authorization = ""
) -> BrowsersModel:
    """List the signed-in browsers: your own; for admins and auditors all."""
    own = browsers.by_token(_bearer(authorization))
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
            for one in browsers.list_sessions(caller.principal)
        ]
    )


@router.delete("/session/browsers/{browser_id}", status_code=204, dependencies=[ADMIN])
async def sign_browser_out(
    caller: CallerOf,
    browsers: BrowserSessionsOf,
    browser_id: str,
    reason: Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")] = "",
) -> Response:
    """Sign another browser out, on every server within a second."""
    await browsers.revoke(caller.principal, browser_id, reason)
    return Response(status_code=204)


@router.get("/me", response_model_exclude_none=True)
async def get_me(
    caller: CallerOf, browsers: BrowserSessionsOf, response: Response, authorization: Authorization = ""
) -> MeModel:
    """Show the caller's identity and permissions."""
    principal = caller.principal
    session = browsers.by_token(_bearer(authorization))
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
    """Return the host and port of the request's `Host` header."""
    return request.headers.get("host", "")


def is_secure(request: Request) -> bool:
    """Return whether the page came over HTTPS. Behind a TLS proxy, its `Origin` shows it."""
    return request.headers.get("origin", "").startswith("https://") or request.url.scheme == "https"
