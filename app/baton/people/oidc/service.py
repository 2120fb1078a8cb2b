"""Signs browsers in with accounts: redirects to the provider, and finds the account's user."""

from __future__ import annotations

import hmac
import logging
from typing import TYPE_CHECKING

import msgspec

from baton.kernel.base.errors import NotFound, Unauthenticated
from baton.kernel.base.sql import Database
from baton.kernel.changes import audit_store
from baton.people.browser_sessions.service import BrowserSessions
from baton.people.browser_sessions.store import BrowserSession
from baton.people.oidc.attempt import Account, NamesNobody, SignInAttempt
from baton.people.users import CONSOLE_ROLES, Users
from baton.rules.call.call import Principal

if TYPE_CHECKING:
    from baton.kernel.base.oidc_settings import OidcSettings
    from baton.people.directory import User
    from baton.people.oidc.provider import OidcProvider

log = logging.getLogger(__name__)

_REFUSALS = {
    "access_denied": "you or {name} refused",
    "login_required": "{name} asks you to sign in there first",
    "interaction_required": "{name} needs an action from you first; start again",
    "consent_required": "{name} asks for your consent first; start again",
    "temporarily_unavailable": "{name} is not available now; try again, or sign in with a token",
    "server_error": "{name} has an internal error; try again, or sign in with a token",
}  # messages for a provider's error codes (RFC 6749, section 4.1.2.1)


class ProviderAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's answer from the browser. Untrusted."""

    state: str
    code: str = ""
    error: str = ""
    issuer: str = ""


class AccountSignIn:
    """Signs browsers in with accounts of the configured provider."""

    def __init__(
        self,
        database: Database,
        users: Users,
        browsers: BrowserSessions,
        settings: OidcSettings,
        provider: OidcProvider | None,
        *,
        organisation: str,
    ) -> None:
        self._database = database
        self._users = users
        self._browsers = browsers
        self._settings = settings
        self._provider = provider
        self._organisation = organisation

    @property
    def name(self) -> str:
        """The provider's display name, or ""."""
        return self._provider.name if self._provider is not None else ""

    async def begin(self, return_to: str, redirect_uri: str) -> tuple[SignInAttempt, str]:
        """Start an attempt. Return it and the provider's URL. Raise NotFound or ProviderUnavailable."""
        attempt = SignInAttempt.begin(return_to)
        url = await self._the_provider().url(
            redirect_uri=redirect_uri,
            state=attempt.derived("state"),
            nonce=attempt.derived("nonce"),
            verifier=attempt.derived("verifier"),
        )
        return attempt, url

    async def finish(
        self, attempt: SignInAttempt | None, answer: ProviderAnswer, redirect_uri: str
    ) -> tuple[BrowserSession, str]:
        """Turn the provider's answer into a session; return both forms.

        Raise NotFound without a provider, Unauthenticated, ProviderUnavailable or StoreUnavailable.
        """
        provider = self._the_provider()
        if attempt is None or not hmac.compare_digest(attempt.derived("state").encode(), answer.state.encode()):
            raise Unauthenticated(
                "this sign-in was not started here, is older than ten minutes, or was replaced by another; start again"
            )
        if not answer.code:
            why = _REFUSALS.get(answer.error, "{name} sent you back without an answer; start again")
            raise Unauthenticated(why.format(name=provider.name))
        account = await provider.account(
            answer.code,
            redirect_uri=redirect_uri,
            nonce=attempt.derived("nonce"),
            verifier=attempt.derived("verifier"),
            issuer=answer.issuer,
        )
        try:
            user = self._user(account)
            return await self._browsers.begin_with_account(user, account.text, attempt.derived("session"))
        except NamesNobody as refused:
            await self._audit_refusal(account, str(refused))
            raise Unauthenticated(f"you are not signed in: {refused}") from None

    def _the_provider(self) -> OidcProvider:
        if self._provider is None:
            raise NotFound("this server has no sign-in by account; sign in with a token")
        return self._provider

    def _user(self, account: Account) -> User:
        name = account.user_name(self._settings)
        user = self._users.find(name)
        if user is None:
            raise NamesNobody(f"there is no user `{name}`; an admin adds one with `baton user set {name}`")
        if user.disabled_at is not None:
            raise NamesNobody(f"the user `{name}` is disabled")
        # An issuer never reuses a subject, but may reuse a name. Another issuer is the operator's decision.
        if user.account.partition(" ")[0] == account.issuer and user.account != account.text:
            raise NamesNobody(
                f"the user `{name}` has signed in with another account of that name; if this one is theirs now, an admin runs"
                f" `baton user set {name} --forget-account`"
            )
        holder = self._users.of_account(account.text)
        if holder is not None and holder.name != name:  # a renamed account must not take another user's place
            raise NamesNobody(
                f"this account is the user `{holder.name}`, and names itself `{name}` now; an admin runs"
                f" `baton user set {holder.name} --forget-account`"
            )
        if user.role not in CONSOLE_ROLES:
            raise NamesNobody(f"the role `{user.role}` of `{name}` has no console")
        return user

    async def _audit_refusal(self, account: Account, why: str) -> None:
        """Audit a refusal. The account is confirmed by the provider, so strangers cannot fill the log."""
        log.info("%s signs nobody in: %s", account.text, why)
        nobody = Principal(organisation=self._organisation, team="", user="", role="developer")
        async with self._database.transaction("sign-in is unavailable now; try again") as connection:
            await audit_store.add(connection, nobody, action="browser-session.refuse", object=account.text, reason=why)
