"""Signs a browser in with an account: sends it to the provider, and finds the user whom the answer names."""

from __future__ import annotations

import hmac
import logging
from typing import TYPE_CHECKING

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import NotFound, StoreUnavailable, Unauthenticated
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import audit_store
from baton.people.browser_sessions.service import BrowserSessions
from baton.people.browser_sessions.store import BrowserSession
from baton.people.oidc.account import Account, NamesNobody
from baton.people.oidc.attempt import Attempt
from baton.people.permissions import CONSOLE_ROLES
from baton.people.users import Users

if TYPE_CHECKING:
    from baton.kernel.base.oidc_settings import OidcSettings
    from baton.people.directory import User
    from baton.people.oidc.provider import Provider

log = logging.getLogger(__name__)

_REFUSALS = {
    "access_denied": "you or {name} said no",
    "login_required": "{name} asks you to sign in there first",
    "interaction_required": "{name} wants something from you first; begin again",
    "consent_required": "{name} asks for your consent first; begin again",
    "temporarily_unavailable": "{name} is not available now; try again, or sign in with a token",
    "server_error": "{name} has a fault; try again, or sign in with a token",
}
"""What a provider can answer instead of a code (RFC 6749, section 4.1.2.1), in words."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider sent the browser back with; nothing of it may be trusted."""

    state: str
    code: str = ""
    error: str = ""
    issuer: str = ""


class AccountSignIn:
    """Signs browsers in with accounts of the one provider, where there is one."""

    def __init__(
        self,
        database: Database,
        users: Users,
        browsers: BrowserSessions,
        settings: OidcSettings,
        provider: Provider | None,
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
        """The provider's name for people, "" if there is no provider."""
        return self._provider.name if self._provider is not None else ""

    async def begin(self, return_to: str, redirect_uri: str) -> tuple[Attempt, str]:
        """Begin an attempt; return it and the URL of the provider's page.

        Raises:
            NotFound: This server has no provider.
            ProviderUnavailable: The provider does not answer.
        """
        attempt = Attempt.begin(return_to)
        url = await self._the_provider().url(
            redirect_uri=redirect_uri,
            state=attempt.derived("state"),
            nonce=attempt.derived("nonce"),
            verifier=attempt.derived("verifier"),
        )
        return attempt, url

    async def finish(self, attempt: Attempt | None, answer: Answer, redirect_uri: str) -> tuple[BrowserSession, str]:
        """Make a session of the provider's answer; return it and its text, which nobody keeps.

        Raises:
            NotFound: This server has no provider.
            Unauthenticated: It is not the answer to this browser's attempt, or its account signs nobody in.
            ProviderUnavailable: The provider does not answer.
            StoreUnavailable: The database is away; nothing was changed.
        """
        provider = self._the_provider()
        if attempt is None or not hmac.compare_digest(attempt.derived("state").encode(), answer.state.encode()):
            raise Unauthenticated(
                "this sign-in was not begun here, or longer than ten minutes ago, or another was begun since; begin again"
            )
        if not answer.code:
            why = _REFUSALS.get(answer.error, "{name} sent you back without an answer; begin again")
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

    def _the_provider(self) -> Provider:
        if self._provider is None:
            raise NotFound("this server signs nobody in with an account; sign in with a token")
        return self._provider

    def _user(self, account: Account) -> User:
        """Return the user whom an account signs in. Raise NamesNobody."""
        name = account.user_name(self._settings)
        user = self._users.find(name)
        if user is None:
            raise NamesNobody(f"there is no user `{name}`; an admin adds one with `baton user set {name}`")
        if user.disabled_at is not None:
            raise NamesNobody(f"the user `{name}` is disabled")
        # An issuer's subject is never another person's later; a name may be. Another issuer is the operator's own word.
        if user.account.partition(" ")[0] == account.issuer and user.account != account.text:
            raise NamesNobody(
                f"the user `{name}` has signed in with another account of that name; if this one is theirs now, an admin runs"
                f" `baton user set {name} --forget-account`"
            )
        holder = self._users.of_account(account.text)
        if holder is not None and holder.name != name:  # who may change their name at the provider takes nobody's place
            raise NamesNobody(
                f"this account is the user `{holder.name}`, and names itself `{name}` now; an admin runs"
                f" `baton user set {holder.name} --forget-account`"
            )
        if user.role not in CONSOLE_ROLES:
            raise NamesNobody(f"the role `{user.role}` of `{name}` has no console")
        return user

    async def _audit_refusal(self, account: Account, why: str) -> None:
        """Record who was refused. They have an account at the provider, so a stranger cannot fill the log."""
        log.info("%s signs nobody in: %s", account.text, why)
        nobody = Principal(organisation=self._organisation, team="", user="", role="developer")
        try:
            async with self._database.transaction() as connection:
                await audit_store.add(
                    connection,
                    nobody,
                    action="browser-session.refuse",
                    kind="browser-session",
                    object=account.text,
                    reason=why,
                )
        except DatabaseUnavailable:
            raise StoreUnavailable("nobody can be signed in now; try again") from None
