"""What an organisation's directory holds: users, teams, projects and access tokens."""

from datetime import datetime
from typing import Any

import msgspec


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person or a machine that tokens speak for. Tokens of a disabled user are refused.

    `role` is the one that they have when they sign in with their company's account; tokens have roles of their own.
    `account` is that account, as its issuer and its subject there, "" until they have signed in with one.
    """

    name: str
    team: str
    created_at: datetime
    disabled_at: datetime | None = None
    role: str = "developer"
    account: str = ""


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """A team. `keep_prompts`: the prompts of its people and agents are stored with the decisions."""

    name: str
    keep_prompts: bool = False


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project, and the team that answers for it."""

    name: str
    team: str


class Directory(msgspec.Struct, frozen=True, kw_only=True):
    """All users, teams and projects of an organisation, by name."""

    users: dict[str, User] = {}
    teams: dict[str, Team] = {}
    projects: dict[str, Project] = {}

    def put(self, kind: str, name: str, row: User | Team | Project | None) -> None:
        """Take what is stored of a `user`, `team` or `project` of a name, None where it is gone."""
        of_kinds: dict[str, dict[str, Any]] = {"user": self.users, "team": self.teams, "project": self.projects}
        rows = of_kinds[kind]
        if row is None:
            rows.pop(name, None)
        else:
            rows[name] = row


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """An access token without its secret: `digest` is the SHA-256 of its text, in hexadecimal digits.

    Times are timezone-aware; None means never. `machine` names the machine whose hooks it is for, "" for any other token.
    """

    id: str
    digest: str
    user: str
    role: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    machine: str = ""
