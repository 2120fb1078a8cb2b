"""Who belongs to the organisation: users, teams, projects, all in memory."""

from collections.abc import Callable
from datetime import UTC, datetime
from difflib import get_close_matches
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid, NotFound, Unauthenticated
from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.write import Change
from baton.kernel.http.etags import check_if_match
from baton.people.directory import Directory, Project, Team, User
from baton.people.permissions import CONSOLE_ROLES, covers, require
from baton.people.stores import users as store

T = TypeVar("T", User, Team, Project)
KIND = "users"
_TYPES: dict[str, type[Any]] = {"user": User, "team": Team, "project": Project}


class Users:
    """The directory. A user whom nobody has entered is in the team that their request names."""

    def __init__(self, database: Database, changes: Changes, *, organisation: str, team: str) -> None:
        self._database = database
        self._changes = changes
        self._organisation = organisation
        self._team = team
        self._directory = Directory()
        changes.on(KIND, self.load, self.load_some)

    async def load(self) -> None:
        """Read the directory from SQL. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            self._directory = await store.load(self._database, self._organisation)

    async def load_some(self, objects: list[str]) -> None:
        """Read users, teams and projects again, as `object_of` names them. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND), self._database.transaction() as connection:
            for one in objects:
                kind, name = msgspec.json.decode(one, type=tuple[str, str])
                self._directory.put(kind, name, await store.find(connection, self._organisation, _TYPES[kind], name))

    def find(self, name: str) -> User | None:
        """Find a user by name."""
        return self._directory.users.get(name)

    def of_account(self, account: str) -> User | None:
        """Find the user who has signed in with an account."""
        return next((user for user in self._directory.users.values() if user.account == account), None)

    def team_of(self, name: str) -> str:
        """Name a user's team; "" for one who is not in the directory."""
        user = self._directory.users.get(name)
        return user.team if user is not None else ""

    def project_team(self, project: str) -> str:
        """Name the team that answers for a project; "" for one that has none."""
        found = self._directory.projects.get(project)
        return found.team if found is not None else ""

    def keeps_prompts(self, team: str) -> bool:
        """Return whether a team wants prompts to be kept."""
        found = self._directory.teams.get(team)
        return found is not None and found.keep_prompts

    def covers(self, principal: Principal, action: str, user: str) -> bool:
        """Return whether a principal may do this to what belongs to a user."""
        return covers(principal, action, user=user, team=self.team_of(user))

    def visible(self, principal: Principal) -> list[User]:
        """List the users whom a principal may see, by name."""
        require(principal, "users.read")
        users = self._directory.users
        return [users[name] for name in sorted(users) if self.covers(principal, "users.read", name)]

    def get(self, principal: Principal, name: str) -> User:
        """Return a user.

        Raises:
            NotFound: There is none of that name whom the principal may see.
        """
        user = self.find(name)
        if user is None or not self.covers(principal, "users.read", name):
            raise NotFound(f"there is no user `{name}`")
        return user

    def teams(self, principal: Principal) -> list[Team]:
        """Return all teams by name: those that were added, and those that users or projects are in."""
        require(principal, "teams.read")
        teams = self._teams()
        return [teams[name] for name in sorted(teams)]

    def team(self, principal: Principal, name: str) -> Team:
        """Return a team.

        Raises:
            NotFound: If there is none of that name.
        """
        require(principal, "teams.read")
        team = self._teams().get(name)
        if team is None:
            raise NotFound(f"there is no team `{name}`")
        return team

    def check_team(self, name: str) -> None:
        """Refuse a team that nobody has added: a misspelt one would take a person out of their team's rules.

        Raises:
            Invalid: If there is no such team; names the field `team`.
        """
        check_name("team", name)
        teams = self._teams()
        if name not in teams:
            near = " or ".join(f"`{one}`" for one in get_close_matches(name, teams))
            hint = f"; did you mean {near}?" if near else ";"
            raise Invalid("team", f"is `{name}`, which is no team{hint} an admin adds teams with `baton team add`")

    def _teams(self) -> dict[str, Team]:
        named = {user.team for user in self._directory.users.values()}
        named |= {project.team for project in self._directory.projects.values()} | {self._team}
        return {name: Team(name=name) for name in named} | self._directory.teams

    def projects(self, principal: Principal) -> list[Project]:
        """List the projects that a team answers for."""
        require(principal, "projects.read")
        return list(self._directory.projects.values())

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
        """Enter a user, move them to a team, disable or enable them, set the role of their account; None and "" leave it.

        With `forget_account` the next account of their name that signs in is theirs, and browsers of the last one are
        signed out.

        Raises:
            Forbidden: The role may not.
            Invalid: The name, the team's or the role cannot be one.
            PreconditionFailed: Another version is stored than `if_match` names.
            StoreUnavailable: The database is away; nothing was changed.
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
        """Enter a team; one that is there stays as it is. Raises Forbidden, Invalid and StoreUnavailable."""
        require(principal, "teams.write")
        check_name("name", name)
        return await self._put(principal, Team, name, lambda before: before or Team(name=name), reason)

    async def set_up_team(
        self, principal: Principal, name: str, *, keep_prompts: bool, if_match: str | None, reason: str = ""
    ) -> Team:
        """Set what a team wants for itself.

        Raises:
            Forbidden: The role may not.
            NotFound: There is none of that name that the principal may set up.
            PreconditionFailed: Another version is stored than `if_match` names.
            StoreUnavailable: The database is away; nothing was changed.
        """
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
        """Set the team that owns a project. Raises Forbidden, PreconditionFailed and StoreUnavailable."""
        require(principal, "projects.write")
        self.check_team(project.team)

        def put(before: Project | None) -> Project:
            check_if_match(if_match, version_of(before), required=False)
            return project

        return await self._put(principal, Project, project.name, put, reason)

    async def remove_user(self, principal: Principal, name: str, reason: str = "") -> None:
        """Remove a user from the directory; their tokens are refused from then on.

        Raises:
            Forbidden: The role may not.
            NotFound: There is none of that name.
            StoreUnavailable: The database is away; nothing was changed.
        """
        require(principal, "users.write")
        self.get(principal, name)

        async with self._changes.write(KIND, principal, "user.remove") as change:
            before = await store.find(change.connection, self._organisation, User, name)
            await store.remove_user(change.connection, self._organisation, name)
            await change.concerns([_object("user", name)])
            await change.audit(name, before=_shown(before), reason=reason)

    async def enter(self, change: Change, user: User) -> None:
        """Enter a user as part of another change."""
        await change.also(KIND, [object_of(user)])
        await store.put(change.connection, self._organisation, user)

    async def take_account(self, change: Change, user: User, account: str) -> None:
        """Bind an account to a user as part of another change, unless it is bound already.

        Raises:
            Unauthenticated: They were changed since they were found.
        """
        if user.account == account:
            return
        await change.also(KIND, [object_of(user)])  # it locks the directory, so that what is read next stays so
        if await store.find(change.connection, self._organisation, User, user.name) != user:
            raise Unauthenticated(f"the user `{user.name}` was changed meanwhile; begin again")
        await store.put(change.connection, self._organisation, msgspec.structs.replace(user, account=account))

    async def _put(
        self, principal: Principal, kind: type[T], name: str, make: Callable[[T | None], T], reason: str
    ) -> T:
        """Store what `make` returns for the stored one of that name, None where there is none."""
        async with self._changes.write(KIND, principal, f"{kind.__name__.lower()}.put") as change:
            before = await store.find(change.connection, self._organisation, kind, name)
            after = make(before)
            await store.put(change.connection, self._organisation, after)
            await change.concerns([object_of(after)])
            await change.audit(name, before=_shown(before), after=_shown(after), reason=reason)
        return after


def object_of(row: User | Team | Project) -> str:
    """Name a user, a team or a project in the log of changes."""
    return _object(type(row).__name__.lower(), row.name)


def _object(kind: str, name: str) -> str:
    return msgspec.json.encode((kind, storable(name))).decode()


def _shown(row: User | Team | Project | None) -> dict[str, Any]:
    return {} if row is None else msgspec.to_builtins(row)


def check_name(field: str, name: str) -> None:
    """Refuse a name of a user or a team that the API's paths could not say.

    Raises:
        Invalid: Naming the field.
    """
    if not name or name != name.strip() or not name.isprintable() or "/" in name or name in {".", ".."}:
        raise Invalid(field, f"is `{name}`; a name has printable characters but `/`, and no blanks around it")


def version_of(row: User | Team | Project | None) -> str:
    """Name what is stored of a user, a team or a project, "0" for one that is not there."""
    return "0" if row is None else blake2b(msgspec.json.encode(row), digest_size=8).hexdigest()
