"""Builds users and tokens, and keeps them as they are in SQL."""

from collections.abc import Callable

import msgspec

from baton.kernel.kernel import Kernel
from baton.people.browser_sessions.service import BrowserSessions
from baton.people.callers import CallerReader
from baton.people.oidc.service import AccountSignIn
from baton.people.terminal_codes import TerminalCodes
from baton.people.tokens import Tokens
from baton.people.users import Users


class PeopleFeature(msgspec.Struct, frozen=True, kw_only=True):
    """Who belongs to the organisation, and how they prove it."""

    users: Users
    tokens: Tokens
    callers: CallerReader
    codes: TerminalCodes
    browsers: BrowserSessions
    accounts: AccountSignIn


async def build(kernel: Kernel, show_code: Callable[[str], None] | None = None) -> PeopleFeature:
    """Build the services and read the directory and the tokens; `show_code` writes to the server's own terminal.

    Raises:
        DatabaseUnavailable: The database is away.
    """
    codes = TerminalCodes(show_code)
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
        from baton.people.oidc.provider import Provider  # noqa: PLC0415 - authlib takes a quarter of a second

        provider = Provider(kernel.settings)
    accounts = AccountSignIn(
        kernel.database, users, browsers, kernel.settings, provider, organisation=kernel.organisation
    )
    await users.load()
    await tokens.load()
    await browsers.load()
    kernel.run(tokens.run)
    callers = CallerReader(kernel.settings, tokens, codes)
    return PeopleFeature(users=users, tokens=tokens, callers=callers, codes=codes, browsers=browsers, accounts=accounts)
