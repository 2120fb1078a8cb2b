"""`/session/provider`: how a browser signs in with an account of the company's OpenID provider.

The provider sends the browser back to a page of the console, and that page posts what it was given. So the session's
cookie is set and sent by pages of this server alone, and stays `SameSite=Strict` (docs/decisions/0043).
"""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from baton.kernel.base.errors import Invalid
from baton.kernel.http.cookies import Kind, name, set_cookie
from baton.kernel.http.features import of
from baton.people.browser_sessions.api import host_of, is_secure
from baton.people.browser_sessions.service import LASTS
from baton.people.oidc import attempt as attempts
from baton.people.oidc.attempt import Attempt
from baton.people.oidc.service import AccountSignIn, Answer
from baton.people.rate_limits import SIGN_IN

router = APIRouter(tags=["console"])
AccountSignInOf = Annotated[AccountSignIn, Depends(of(AccountSignIn))]
BEGIN_CALL = "/session/provider/attempts"
FINISH_CALL = "/session/provider"
"""What the console posts to: changes that need no token, like `POST /session`."""
RETURN_PATH = "/ui/sign-in/account"
"""The page that the provider sends the browser back to."""
_KIND: Kind = "baton-attempt"


class SignInProviderModel(BaseModel):
    """The providers that can sign people in."""

    name: str


class SignInProvidersModel(BaseModel):
    """The providers whose accounts can sign in: one, or none."""

    items: list[SignInProviderModel]


class SignInAttemptBody(BaseModel):
    """Where to go afterwards."""

    model_config = ConfigDict(
        extra="forbid",
        str_max_length=attempts.LONGEST_PATH,
        json_schema_extra={"examples": [{"return_to": "/ui/decisions"}]},
    )

    return_to: str = Field(attempts.HOME, description="The page of the console to return to: a path below `/ui/`.")


class SignInAttemptModel(BaseModel):
    """Where the browser goes next."""

    url: str = Field(description="The provider's page, at which the person signs in.")


class ProviderAnswerBody(BaseModel):
    """What the provider sent the browser back with, as it stood in the address."""

    model_config = ConfigDict(
        extra="forbid",
        str_max_length=4_096,
        json_schema_extra={"examples": [{"state": "0f" * 16, "code": "SplxlOBeZQQYbYS6WxSbIA"}]},
    )

    state: str = Field(description="What the attempt was begun with.")
    code: str = Field("", description="What stands for the person's account.")
    error: str = Field("", description="Why there is no code.")
    iss: str = Field("", description="The provider, where it names itself.")

    @model_validator(mode="after")
    def _one_of_them(self) -> "ProviderAnswerBody":
        if bool(self.code) == bool(self.error):
            raise ValueError("give `code` or `error`, and not both")
        return self


class AccountSessionModel(BaseModel):
    """A signed-in browser."""

    user: str
    expires_at: datetime
    return_to: str = Field(description="The page of the console where the person began.")


@router.get("/session/providers", operation_id="list_sign_in_providers")
async def list_sign_in_providers(accounts: AccountSignInOf) -> SignInProvidersModel:
    """List the providers whose accounts sign people in to the console; needs no token."""
    return SignInProvidersModel(items=[SignInProviderModel(name=accounts.name)] if accounts.name else [])


@router.post(BEGIN_CALL, operation_id="begin_account_sign_in", status_code=201, dependencies=[SIGN_IN])
async def begin_account_sign_in(
    accounts: AccountSignInOf, request: Request, response: Response, body: SignInAttemptBody
) -> SignInAttemptModel:
    """Begin to sign this browser in with an account; the answer sets a cookie that the last step needs."""
    if not attempts.is_page(body.return_to):
        raise Invalid("return_to", f"is `{body.return_to}`, which is no path below `/ui/` to return to")
    attempt, url = await accounts.begin(body.return_to, _redirect_uri(request))
    response.headers["Set-Cookie"] = _cookie(request, attempt.cookie, attempts.LASTS_S)
    response.headers["Cache-Control"] = "no-store"
    return SignInAttemptModel(url=url)


@router.post(FINISH_CALL, operation_id="sign_in_with_account", status_code=201, dependencies=[SIGN_IN])
async def sign_in_with_account(
    accounts: AccountSignInOf, request: Request, response: Response, body: ProviderAnswerBody
) -> AccountSessionModel:
    """Sign this browser in with the account that the provider confirms; the answer sets a cookie."""
    attempt = Attempt.read(request.cookies.get(name(host_of(request), secure=is_secure(request), kind=_KIND), ""))
    answer = Answer(state=body.state, code=body.code, error=body.error, issuer=body.iss)
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
    """Return where the provider sends the browser back to: the same server under the name by which it was asked.

    The name is one of `BATON_ALLOWED_HOSTS`, and the provider takes no other address than those that it was told.
    """
    return f"{'https' if is_secure(request) else 'http'}://{host_of(request)}{RETURN_PATH}"
