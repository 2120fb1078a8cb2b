"""An organisation's directory: users, teams, projects and access tokens."""

from datetime import datetime
from typing import Any

import msgspec


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person or machine with tokens. Tokens of a disabled user are refused.

    `role` applies to sign-ins with the company's account; tokens have their own. `account` is its issuer and subject.
    """

    name: str
    team: str
    created_at: datetime
    disabled_at: datetime | None = None
    role: str = "developer"
    account: str = ""


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """A team. `keep_prompts`: its prompts are stored with the decisions, secrets masked."""

    name: str
    keep_prompts: bool = False


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project and its responsible team."""

    name: str
    team: str


class Alias(msgspec.Struct, frozen=True, kw_only=True):
    """An alias of a project that clients cannot derive: a moved repository, a mirror."""

    name: str
    project: str


class Directory(msgspec.Struct, frozen=True, kw_only=True):
    """All users, teams, projects and aliases of an organisation, by name."""

    users: dict[str, User] = {}
    teams: dict[str, Team] = {}
    projects: dict[str, Project] = {}
    aliases: dict[str, Alias] = {}

    def put(self, kind: str, name: str, row: User | Team | Project | Alias | None) -> None:
        """Set a `user`, `team`, `project` or `alias` by name, or delete it with None."""
        of_kinds: dict[str, dict[str, Any]] = {
            "user": self.users,
            "team": self.teams,
            "project": self.projects,
            "alias": self.aliases,
        }
        rows = of_kinds[kind]
        if row is None:
            rows.pop(name, None)
        else:
            rows[name] = row


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """An access token; only its SHA-256 digest is stored. Times are aware, None is never; `machine` is for hook tokens."""

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
