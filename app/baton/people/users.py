"""The organisation's users, teams and projects, in memory."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from difflib import get_close_matches
from hashlib import blake2b
from typing import Any, Literal, TypeVar

import msgspec
from sqlalchemy import Select, Table

from baton.kernel.base.errors import Forbidden, Invalid, NotFound, PersonRequired, Unauthenticated
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.write import SqlChange
from baton.kernel.http.paging import check_if_match
from baton.people import users_store as store
from baton.people.directory import Alias, Directory, Project, Team, User
from baton.rules.call.call import Principal
from baton.shared import storable as project_names
from baton.shared.caller import Caller
from baton.shared.storable import canonical, storable

# The table of permissions and their reach.

Reach = Literal["job", "own", "team", "organisation"]  # a job, one's own objects, the team's, or everybody's
Role = Literal["developer", "lead", "admin", "runner", "auditor", "observer", "hook"]
ROLES: tuple[Role, ...] = ("developer", "lead", "admin", "runner", "auditor", "observer", "hook")
"""The user of a `hook` token counts as a developer and may only do `FOR_AGENTS`. An `observer` is a system that reads
events and changes nothing."""

_OWN: dict[str, Reach] = {"developer": "own", "runner": "own"}
_EVERY_OWN: dict[str, Reach] = {**_OWN, "lead": "own", "admin": "own"}
_READ: dict[str, Reach] = {**_OWN, "lead": "team", "admin": "organisation", "auditor": "organisation"}
"""Developers see their own, leads their team's, admins and auditors everybody's."""
_READ_BY_LEADS: dict[str, Reach] = {"lead": "team", "admin": "organisation", "auditor": "organisation"}
_OF_PRINCIPALS = ("developer", "lead", "admin", "runner", "auditor")
_READ_BY_ALL: dict[str, Reach] = dict.fromkeys(_OF_PRINCIPALS, "organisation")
_READ_BY_TEAM: dict[str, Reach] = {
    **dict.fromkeys(_OF_PRINCIPALS, "team"),
    "admin": "organisation",
    "auditor": "organisation",
}
_WRITE: dict[str, Reach] = {"developer": "own", "lead": "team", "admin": "organisation"}
_WRITE_BY_LEADS: dict[str, Reach] = {"lead": "team", "admin": "organisation"}
_ADMIN: dict[str, Reach] = {"admin": "organisation"}
# Not in ROLES: these come with a lease, not with a token. Unlisted actions are forbidden.
_AGENTS: dict[str, Reach] = {"agent": "job", "delegating-agent": "job"}
_DELEGATING: dict[str, Reach] = {"delegating-agent": "job"}

ASK_A_PERSON = "the person runs `baton` in a terminal of their own on the server's machine, or sends a token of their own"  # the remedy for `PersonRequired`. Agents read it too, and can relay it to the person.

TABLE: dict[str, dict[str, Reach]] = {
    "analytics.read": _READ,
    "approvals.decide": _WRITE,
    "approvals.read": _READ,
    "audit.read": {"admin": "organisation", "auditor": "organisation"},
    "breakers.read": _READ_BY_ALL,
    "breakers.write": _ADMIN,
    "calls.make": {"developer": "own", "lead": "own", "admin": "own", "runner": "own", **_AGENTS},
    "clients.read": _READ,
    "clients.report": {"developer": "own", "lead": "own", "admin": "own"},  # whose hooks are installed
    "codemap.read": {**_EVERY_OWN, "auditor": "own"},
    "codemap.write": _EVERY_OWN,
    "console.open": {"developer": "own", "lead": "own", "admin": "own", "auditor": "own"},
    "compliance.report": {"admin": "organisation", "observer": "organisation"},  # who may also read the request
    "decisions.read": _READ,
    "delegation.try": _READ_BY_ALL,
    "events.read": {**_READ, "observer": "organisation"},
    "events.restricted": {"observer": "organisation"},  # content of prompts and files: no other role has it
    "events.webhooks": _ADMIN,
    "exceptions.grant": _WRITE,  # from rules that they may write or answer for: `baton.sessions.exceptions`
    "exceptions.read": _READ,
    "exceptions.request": _WRITE,
    "graphs.read": _READ,
    "graphs.write": _EVERY_OWN,
    "inventory.read": {**_EVERY_OWN, "auditor": "own"},
    "jobs.apply": {"developer": "own", "lead": "own", "admin": "own"},  # into files of their own machines
    "jobs.decide": _WRITE,
    "jobs.read": {**_READ, **_AGENTS},
    "jobs.run": _EVERY_OWN,
    "jobs.submit": {**_EVERY_OWN, **_DELEGATING},
    "jobs.write": {**_WRITE, "runner": "own", **_DELEGATING},
    "metrics.read": {"admin": "organisation", "auditor": "organisation"},
    "modes.read": _READ,
    "modes.write": _WRITE,
    "patterns.decide": _WRITE_BY_LEADS,
    "patterns.propose": {"developer": "team", "lead": "team", "runner": "team", "admin": "organisation"},
    "patterns.read": _READ_BY_TEAM,
    "policies.read": _READ_BY_ALL,
    "policies.replay": _READ_BY_LEADS,
    "policies.unlock": _ADMIN,
    "policies.write": _WRITE,
    "projects.read": _READ_BY_ALL,
    "projects.write": _ADMIN,
    "reports.read": _READ,
    "reports.resolve": _WRITE_BY_LEADS,
    "reports.write": _WRITE,
    "retention.read": {"admin": "organisation", "auditor": "organisation"},
    "retention.write": _ADMIN,
    "runners.read": _READ,
    "rosters.read": _READ_BY_TEAM,
    "rosters.write": _WRITE_BY_LEADS,
    "routes.feedback": _WRITE,
    "routes.make": {"developer": "own", "lead": "own", "admin": "own", "runner": "own"},
    "sessions.read": _READ,
    "sessions.write": _WRITE,
    "spawns.make": {**_EVERY_OWN, **_DELEGATING},
    "teams.read": _READ_BY_ALL,
    "teams.settings": _WRITE_BY_LEADS,
    "teams.write": _ADMIN,
    "tokens.create": _ADMIN,
    "tokens.hook": {"developer": "own", "lead": "own", "admin": "own"},  # for hooks of their own machines
    "tokens.read": {"developer": "own", "lead": "own", "runner": "own", "admin": "organisation",
                    "auditor": "organisation"},
    "tokens.refused": {"admin": "organisation", "auditor": "organisation"},
    "tokens.revoke": {"developer": "own", "lead": "own", "runner": "own", "admin": "organisation"},
    "users.delete-data": {"developer": "own", "lead": "own", "admin": "organisation"},
    "users.export": {"developer": "own", "lead": "own", "admin": "organisation", "auditor": "organisation"},
    "users.read": _READ,
    "users.write": _ADMIN,
}  # fmt: skip

CONSOLE_ROLES = tuple(TABLE["console.open"])  # roles with access to the console

_WRITES_OF_AGENTS = frozenset(
    {
        "calls.make", "clients.report", "codemap.write", "exceptions.request", "graphs.write", "jobs.apply", "jobs.submit", "jobs.write",
        "modes.write", "patterns.propose", "reports.write", "routes.feedback", "routes.make", "spawns.make",
    }
)  # fmt: skip
"""Actions of agents at work. `modes.write` only permits switching on and stricter levels."""
FOR_AGENTS = _WRITES_OF_AGENTS | {
    action
    for action in TABLE
    if (action.endswith(".read") and action != "events.read") or action in {"delegation.try", "policies.replay"}
}
"""Permissions of the credential of hooks and agents. The rest needs a person: agents must not weaken their own rules.

Reading events is excluded: those are for their user's systems.
"""


def reach(principal: Principal, action: str) -> Reach | None:
    """Return the reach of a principal's permission, or None without permission."""
    found = TABLE[action].get(principal.role)
    if not principal.agent or found is None:
        return found
    if action in _WRITES_OF_AGENTS:
        return "own"
    return found if action in FOR_AGENTS else None


def require(principal: Principal, action: str) -> Reach:
    """Return the reach of a permission. Raise Forbidden, or PersonRequired for the credential of hooks and agents."""
    found = reach(principal, action)
    if found is None:
        if principal.agent and action not in FOR_AGENTS:
            raise PersonRequired(f"`{action}` needs a person; {ASK_A_PERSON}")
        allowed = ", ".join(f"`{role}`" for role in TABLE[action])
        raise Forbidden(f"role `{principal.role}` may not do `{action}`; allowed: {allowed}")
    return found


def covers(principal: Principal, action: str, *, user: str, team: str) -> bool:
    """Return whether a principal has permission on an object of a user and team ("" without one)."""
    match reach(principal, action):
        case "organisation":
            return True
        case "team":
            return user == principal.user or (team != "" and team == principal.team)
        case "own":
            return user == principal.user
        case "job" | None:  # the room of jobs checks the job
            return False


# Limits queries to the rows within a principal's reach.


class RowScope(msgspec.Struct, frozen=True, kw_only=True):
    """The user's own rows and their team's; everybody's if both are empty."""

    user: str = ""
    team: str = ""

    def limit(self, query: Select[Any], table: Table) -> Select[Any]:
        """Restrict a query by the table's columns `user` and `team`."""
        if self.team:
            return query.where((table.c.team == storable(self.team)) | (table.c.user == storable(self.user)))
        return query.where(table.c.user == storable(self.user)) if self.user else query

    def covers(self, user: str, team: str) -> bool:
        """Return whether an object of a user in a team is in scope."""
        return not self.user or user == storable(self.user) or (self.team != "" and team == storable(self.team))


def row_scope(principal: Principal, action: str) -> RowScope:
    """Return the rows within reach of an action. Raise Forbidden without permission, or for a single job's agent."""
    match require(principal, action):
        case "organisation":
            return RowScope()
        case "team":
            return RowScope(user=principal.user, team=principal.team)
        case "own":
            return RowScope(user=principal.user)
        case "job":
            raise Forbidden(f"the token is for job `{principal.job}` alone; it lists nothing")


T = TypeVar("T", User, Team, Project, Alias)
_WAYS = {
    "user": "an admin adds it with `baton user set`",
    "project": "an admin adds it with `baton team project set`",
    "rule": "`baton policy hits` lists the rules",
}
"""What to do about an unknown name."""
KIND = "users"
_TYPES: dict[str, type[Any]] = {"user": User, "team": Team, "project": Project, "alias": Alias}


Named = Literal["user", "team", "project", "rule"]
Recorded = Callable[[Principal, Literal["user", "project", "rule"], str], Awaitable[set[str]]]
"""Returns the names in decisions that a principal may see: the newest ones', and the name itself if any has it."""


class Users:
    """The directory. Unknown users belong to the team named by their request."""

    def __init__(self, database: Database, changes: Changes, *, organisation: str, team: str) -> None:
        self._database = database
        self._changes = changes
        self._organisation = organisation
        self._team = team
        self._directory = Directory()
        self.recorded: Recorded | None = None
        changes.on(KIND, self.load, self.load_some)

    async def load(self) -> None:
        """Load the directory from SQL. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            self._directory = await store.load(self._database, self._organisation)
            self._learn_aliases()

    async def load_some(self, objects: list[str]) -> None:
        """Reload some objects, as named by `object_of`. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND), self._database.transaction() as connection:
            for one in objects:
                kind, name = msgspec.json.decode(one, type=tuple[str, str])
                self._directory.put(
                    kind, name, await store.find_row(connection, self._organisation, _TYPES[kind], name)
                )
            self._learn_aliases()

    def _learn_aliases(self) -> None:
        project_names.learn({one.name: one.project for one in self._directory.aliases.values()})

    def find(self, name: str) -> User | None:
        """Find a user by name."""
        return self._directory.users.get(name)

    def of_account(self, account: str) -> User | None:
        """Find the user of an account."""
        return next((user for user in self._directory.users.values() if user.account == account), None)

    def team_of(self, name: str) -> str:
        """Return a user's team, "" if unknown."""
        user = self._directory.users.get(name)
        return user.team if user is not None else ""

    def project_team(self, project: str) -> str:
        """Return a project's team, or ""."""
        found = self._directory.projects.get(project)
        return found.team if found is not None else ""

    def keeps_prompts(self, team: str) -> bool:
        """Return whether a team stores prompts."""
        found = self._directory.teams.get(team)
        return found is not None and found.keep_prompts

    def covers(self, principal: Principal, action: str, user: str) -> bool:
        """Return whether a principal has permission on a user's objects."""
        return covers(principal, action, user=user, team=self.team_of(user))

    def visible(self, principal: Principal) -> list[User]:
        """List the users visible to a principal, by name."""
        require(principal, "users.read")
        users = self._directory.users
        return [users[name] for name in sorted(users) if self.covers(principal, "users.read", name)]

    def get(self, principal: Principal, name: str) -> User:
        """Return a user visible to the principal. Raise NotFound."""
        user = self.find(name)
        if user is None or not self.covers(principal, "users.read", name):
            raise NotFound(f"there is no user `{name}`")
        return user

    def teams(self, principal: Principal) -> list[Team]:
        """Return all teams by name: added ones, and those of users and projects."""
        require(principal, "teams.read")
        teams = self._teams()
        return [teams[name] for name in sorted(teams)]

    def team(self, principal: Principal, name: str) -> Team:
        """Return a team. Raise NotFound."""
        require(principal, "teams.read")
        team = self._teams().get(name)
        if team is None:
            raise NotFound(f"there is no team `{name}`")
        return team

    async def check_known(self, caller: Caller, kind: Named, name: str, *, field: str = "") -> None:
        """Refuse a misspelt name: nobody has added it, and no decision has it.

        Raises:
            Invalid: If the name is unknown; names the field, and the nearest name that the caller may see.
            StoreUnavailable: If the database is unavailable.
        """
        me, directory = caller.principal, self._directory
        if name in {"", {"user": me.user, "team": me.team, "project": caller.project}.get(kind)}:
            return
        if kind == "team":
            self.check_team(name, field=field or kind)
            return
        added: dict[str, Any] = {} if kind == "rule" else directory.projects | directory.aliases
        if kind == "user":
            added = directory.users
        if name in added:
            return
        recorded = await self.recorded(me, kind, name) if self.recorded else set[str]()
        if name not in recorded:
            seen = [one for one in added if kind != "user" or self.covers(me, "users.read", one)]
            near = get_close_matches(name, [*recorded, *seen], n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ";"
            raise Invalid(field or kind, f"is `{name}`, an unknown {kind}{hint} {_WAYS[kind]}")

    def check_team(self, name: str, *, field: str = "team") -> None:
        """Refuse unknown teams: a misspelt one would remove a person from their team's rules. Raise Invalid."""
        check_name(field, name)
        teams = self._teams()
        if name not in teams:
            near = " or ".join(f"`{one}`" for one in get_close_matches(name, teams))
            hint = f"; did you mean {near}?" if near else ";"
            raise Invalid(field, f"is `{name}`, which is no team{hint} an admin adds teams with `baton team add`")

    def _teams(self) -> dict[str, Team]:
        named = {user.team for user in self._directory.users.values()}
        named |= {project.team for project in self._directory.projects.values()} | {self._team}
        return {name: Team(name=name) for name in named} | self._directory.teams

    def projects(self, principal: Principal) -> list[Project]:
        """List the projects with a team."""
        require(principal, "projects.read")
        return list(self._directory.projects.values())

    def aliases(self, principal: Principal) -> list[Alias]:
        """List the aliases of projects."""
        require(principal, "projects.read")
        return list(self._directory.aliases.values())

    async def put_user(
        self,
        principal: Principal,
        name: str,
        *,
        team: str,
        disabled: bool | None,
        role: str = "",
        forget_account: bool = False,
        if_match: str | None = None,
        reason: str = "",
    ) -> User:
        """Create or change a user. None and "" keep the current value.

        `forget_account` unbinds their account and signs its browsers out: the next account of their name is bound.
        Raise Forbidden, Invalid, PreconditionFailed or StoreUnavailable.
        """
        require(principal, "users.write")
        check_name("name", name)
        if team:
            self.check_team(team)
        if role and role not in CONSOLE_ROLES:
            raise Invalid("role", f"is `{role}`", list(CONSOLE_ROLES))
        now = datetime.now(UTC)

        def user(before: User | None) -> User:
            check_if_match(if_match, version_of(before), required=False)
            now_is = before or User(name=name, team=self._team, created_at=now)
            since = now_is.disabled_at
            return msgspec.structs.replace(
                now_is,
                team=team or now_is.team,
                disabled_at=since if disabled is None else (since or now) if disabled else None,
                role=role or now_is.role,
                account="" if forget_account else now_is.account,
            )

        return await self._put(principal, User, name, user, reason)

    async def put_team(self, principal: Principal, name: str, reason: str = "") -> Team:
        """Add a team, or keep an existing one. Raise Forbidden, Invalid or StoreUnavailable."""
        require(principal, "teams.write")
        check_name("name", name)
        return await self._put(principal, Team, name, lambda before: before or Team(name=name), reason)

    async def set_up_team(
        self, principal: Principal, name: str, *, keep_prompts: bool, if_match: str | None, reason: str = ""
    ) -> Team:
        """Change a team's settings. Raise Forbidden, NotFound, PreconditionFailed or StoreUnavailable."""
        if require(principal, "teams.settings") == "team" and name != principal.team:
            raise NotFound(f"there is no team `{name}` whose settings you may change")
        self.team(principal, name)

        def team(before: Team | None) -> Team:
            check_if_match(if_match, version_of(before or Team(name=name)), required=False)
            return Team(name=name, keep_prompts=keep_prompts)

        return await self._put(principal, Team, name, team, reason)

    async def put_project(
        self, principal: Principal, project: Project, *, if_match: str | None = None, reason: str = ""
    ) -> Project:
        """Set a project's team. Raise Forbidden, Invalid, PreconditionFailed or StoreUnavailable."""
        require(principal, "projects.write")
        self.check_team(project.team)

        def put(before: Project | None) -> Project:
            check_if_match(if_match, version_of(before), required=False)
            return project

        return await self._put(principal, Project, project.name, put, reason)

    async def put_alias(self, principal: Principal, name: str, project: str, reason: str = "") -> Alias:
        """Make a name an alias of a project: its settings apply to work under that name.

        Raise Forbidden, StoreUnavailable, or Invalid if the name has aliases or equals its project, or the project is
        one.
        """
        require(principal, "projects.write")
        alias = Alias(name=canonical(name), project=canonical(project))
        aliases = self._directory.aliases
        if alias.project in aliases:
            real = aliases[alias.project].project
            raise Invalid("project", f"is `{alias.project}`, an alias of `{real}`; name `{real}`")
        if alias.name == alias.project or any(one.project == alias.name for one in aliases.values()):
            raise Invalid(
                "name", f"is `{alias.name}`, a project with aliases; use another name, or remove its aliases first"
            )
        return await self._put(principal, Alias, alias.name, lambda _: alias, reason)

    async def remove_alias(self, principal: Principal, name: str, reason: str = "") -> None:
        """Remove an alias. Raise Forbidden, NotFound or StoreUnavailable."""
        require(principal, "projects.write")
        if canonical(name) not in self._directory.aliases:
            raise NotFound(f"`{name}` is not an alias; see `baton team project list`")
        await self._remove(principal, Alias, canonical(name), reason)

    async def remove_user(self, principal: Principal, name: str, reason: str = "") -> None:
        """Remove a user. Their tokens become invalid. Raise Forbidden, NotFound or StoreUnavailable."""
        require(principal, "users.write")
        self.get(principal, name)
        await self._remove(principal, User, name, reason)

    async def _remove(self, principal: Principal, kind: type[T], name: str, reason: str) -> None:
        of_kind = kind.__name__.lower()
        async with self._changes.write(KIND, principal, f"{of_kind}.remove") as change:
            before = await store.find_row(change.connection, self._organisation, kind, name)
            await store.remove(change.connection, self._organisation, kind, name)
            await change.concerns([_object(of_kind, name)])
            await change.audit(name, before=_shown(before), reason=reason)

    async def enter(self, change: SqlChange, user: User) -> None:
        """Add a user within another change."""
        await change.also(KIND, [object_of(user)])
        await store.put_row(change.connection, self._organisation, user)

    async def take_account(self, change: SqlChange, user: User, account: str) -> None:
        """Bind an account to a user within another change. Raise Unauthenticated if the user changed meanwhile."""
        if user.account == account:
            return
        await change.also(KIND, [object_of(user)])  # locks the directory before the next read
        if await store.find_row(change.connection, self._organisation, User, user.name) != user:
            raise Unauthenticated(f"the user `{user.name}` was changed meanwhile; start again")
        await store.put_row(change.connection, self._organisation, msgspec.structs.replace(user, account=account))

    async def _put(
        self, principal: Principal, kind: type[T], name: str, make: Callable[[T | None], T], reason: str
    ) -> T:
        """Store the result of `make`. It gets the stored row, or None."""
        async with self._changes.write(KIND, principal, f"{kind.__name__.lower()}.put") as change:
            before = await store.find_row(change.connection, self._organisation, kind, name)
            after = make(before)
            await store.put_row(change.connection, self._organisation, after)
            await change.concerns([object_of(after)])
            await change.audit(name, before=_shown(before), after=_shown(after), reason=reason)
        return after


def object_of(row: User | Team | Project | Alias) -> str:
    """Return an object's name in the log of changes."""
    return _object(type(row).__name__.lower(), row.name)


def _object(kind: str, name: str) -> str:
    return msgspec.json.encode((kind, storable(name))).decode()


def _shown(row: User | Team | Project | Alias | None) -> dict[str, Any]:
    return {} if row is None else msgspec.to_builtins(row)


def check_name(field: str, name: str) -> None:
    """Refuse a user's or team's name unsuitable for API paths. Raise Invalid."""
    if not name or name != name.strip() or not name.isprintable() or "/" in name or name in {".", ".."}:
        raise Invalid(field, f"is `{name}`; use printable characters except `/`, without surrounding blanks")


def version_of(row: User | Team | Project | None) -> str:
    """Return the version of a row, "0" if it does not exist."""
    return "0" if row is None else blake2b(msgspec.json.encode(row), digest_size=8).hexdigest()
