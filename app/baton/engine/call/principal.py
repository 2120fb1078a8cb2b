"""The user, team, organisation and role of a request, after authentication."""

import msgspec


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of every request, table and key: one user of one team of one organisation.

    `role` is one of developer, lead, admin, runner, auditor; or `agent`, `delegating-agent` for a delegated agent, which may
    work on one `job` alone, and delegate in one `session` alone. Both are "" for people.
    """

    organisation: str = "default"
    team: str = "default"
    user: str = "local"
    role: str = "developer"
    job: str = ""
    session: str = ""
    agent: bool = False
    """Whether the request has only the credential of hooks and agents, which cannot do what a person must."""
