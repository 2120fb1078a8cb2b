"""Builds users and tokens, and keeps them in sync with SQL."""

import msgspec

from baton.kernel.kernel import Kernel, PeriodicTask
from baton.people.browser_sessions.service import BrowserSessions
from baton.people.callers import CallerReader
from baton.people.oidc.service import AccountSignIn
from baton.people.tokens import Tokens
from baton.people.users import Users


class PeopleFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The organisation's members and their authentication."""

    users: Users
    tokens: Tokens
    callers: CallerReader
    browsers: BrowserSessions
    accounts: AccountSignIn


async def build(kernel: Kernel) -> PeopleFeature:
    """Build the services, and load the directory and the tokens. Raise DatabaseUnavailable."""
    users = Users(kernel.database, kernel.changes, organisation=kernel.organisation, team=kernel.settings.team)
    tokens = Tokens(kernel.database, kernel.changes, users, organisation=kernel.organisation)
    browsers = BrowserSessions(
        kernel.database,
        kernel.changes,
        tokens,
        users,
        organisation=kernel.organisation,
        tokens_required=kernel.settings.auth_on,
        issuer=kernel.settings.oidc_issuer,
    )
    provider = None
    if kernel.settings.oidc_issuer:
        from baton.people.oidc.provider import OidcProvider  # noqa: PLC0415 - importing authlib takes a quarter of a second

        provider = OidcProvider(kernel.settings)
    accounts = AccountSignIn(
        kernel.database, users, browsers, kernel.settings, provider, organisation=kernel.organisation
    )
    await users.load()
    await tokens.load()
    await browsers.load()
    kernel.every(PeriodicTask("use of tokens", 5, lambda _: tokens.flush(), at_stop=True))
    callers = CallerReader(kernel.settings, tokens)
    return PeopleFeature(users=users, tokens=tokens, callers=callers, browsers=browsers, accounts=accounts)
