"""`/session/provider`: signing in with an account of the company's OpenID provider.

The provider redirects the browser to a page of the console, and that page posts the answer. So only pages of this
server set and send the session's cookie, and it stays `SameSite=Strict` (docs/decisions/0043).
"""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field, model_validator

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.kernel.http.fields import Kind, name, request_body, set_cookie
from baton.people.browser_sessions.api import host_of, is_secure
from baton.people.browser_sessions.service import LASTS
from baton.people.oidc import attempt as attempts
from baton.people.oidc.attempt import SignInAttempt
from baton.people.oidc.service import AccountSignIn, ProviderAnswer
from baton.people.rate_limits import SIGN_IN

router = APIRouter(tags=["console"])
AccountSignInOf = Annotated[AccountSignIn, Depends(of(AccountSignIn))]
BEGIN_CALL = "/session/provider/attempts"
FINISH_CALL = "/session/provider"  # the console's endpoints. They need no token, like `POST /session`.
RETURN_PATH = "/ui/sign-in/account"  # the provider's redirect target
_KIND: Kind = "baton-attempt"


class SignInProviderModel(BaseModel):
    """An OpenID provider."""

    name: str


class SignInProvidersModel(BaseModel):
    """The provider for signing in with an account, if any."""

    items: list[SignInProviderModel]


class SignInAttemptBody(BaseModel):
    """The return path of a sign-in."""

    model_config = request_body({"return_to": "/ui/decisions"}, longest=attempts.LONGEST_PATH)

    return_to: str = Field(attempts.HOME, description="The page of the console to return to: a path below `/ui/`.")


class SignInAttemptModel(BaseModel):
    """The browser's next page."""

    url: str = Field(description="The provider's sign-in page.")


class ProviderAnswerBody(BaseModel):
    """The provider's answer, as received in the address."""

    model_config = request_body({"state": "0f" * 16, "code": "SplxlOBeZQQYbYS6WxSbIA"}, longest=4_096)

    state: str = Field(description="The attempt's state.")
    code: str = Field("", description="The provider's authorization code.")
    error: str = Field("", description="The reason for a missing code.")
    iss: str = Field("", description="The provider's issuer, if given.")

    @model_validator(mode="after")
    def _one_of_them(self) -> "ProviderAnswerBody":
        if bool(self.code) == bool(self.error):
            raise ValueError("give `code` or `error`, and not both")
        return self


class AccountSessionModel(BaseModel):
    """A signed-in browser."""

    user: str
    expires_at: datetime
    return_to: str = Field(description="The page of the console to return to.")


@router.get("/session/providers")
async def list_sign_in_providers(accounts: AccountSignInOf) -> SignInProvidersModel:
    """List the OpenID providers for the console. Needs no token."""
    return SignInProvidersModel(items=[SignInProviderModel(name=accounts.name)] if accounts.name else [])


@router.post(BEGIN_CALL, status_code=201, dependencies=[SIGN_IN])
async def begin_account_sign_in(
    accounts: AccountSignInOf, request: Request, response: Response, body: SignInAttemptBody
) -> SignInAttemptModel:
    """Start signing this browser in with an account. The response sets a cookie for the last step."""
    if not attempts.is_page(body.return_to):
        raise Invalid("return_to", f"is `{body.return_to}`, which is no path below `/ui/` to return to")
    attempt, url = await accounts.begin(body.return_to, _redirect_uri(request))
    response.headers["Set-Cookie"] = _cookie(request, attempt.cookie, attempts.LASTS_S)
    response.headers["Cache-Control"] = "no-store"
    return SignInAttemptModel(url=url)


@router.post(FINISH_CALL, status_code=201, dependencies=[SIGN_IN])
async def sign_in_with_account(
    accounts: AccountSignInOf, request: Request, response: Response, body: ProviderAnswerBody
) -> AccountSessionModel:
    """Sign this browser in with the account confirmed by the provider. The response sets a cookie."""
    attempt = SignInAttempt.read(request.cookies.get(name(host_of(request), secure=is_secure(request), kind=_KIND), ""))
    answer = ProviderAnswer(state=body.state, code=body.code, error=body.error, issuer=body.iss)
    session, text = await accounts.finish(attempt, answer, _redirect_uri(request))
    age = int(LASTS.total_seconds())
    signed_in = set_cookie(host_of(request), text, secure=is_secure(request), max_age_s=age)
    response.headers.append("Set-Cookie", signed_in)
    response.headers.append("Set-Cookie", _cookie(request, "", 0))
    response.headers["Cache-Control"] = "no-store"
    return AccountSessionModel(
        user=session.user,
        expires_at=session.expires_at.astimezone(UTC),
        return_to=attempt.return_to if attempt is not None else attempts.HOME,
    )


def _cookie(request: Request, text: str, max_age_s: int) -> str:
    return set_cookie(host_of(request), text, secure=is_secure(request), max_age_s=max_age_s, kind=_KIND)


def _redirect_uri(request: Request) -> str:
    """Return the redirect URI. Its host is in `BATON_ALLOWED_HOSTS`, and the provider knows the URI."""
    return f"{'https' if is_secure(request) else 'http'}://{host_of(request)}{RETURN_PATH}"
