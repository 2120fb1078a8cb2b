"""The user, team, organisation and role of a request, after authentication."""

import msgspec


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of every request, table and key: one user of one team of one organisation.

    `role` is one of developer, lead, admin, runner, auditor.
    """

    organisation: str = "default"
    team: str = "default"
    user: str = "local"
    role: str = "developer"
