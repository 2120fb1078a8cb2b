"""Who belongs to the organisation: users, teams, projects, all in memory. It gives no rights: `permissions` does."""

from datetime import UTC, datetime

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from app.engine.principal import Principal
from app.errors import NotFound, StoreUnavailable
from app.services.changes import Changes
from app.services.permissions import covers, require
from app.store import audit
from app.store import changes as numbers
from app.store import users as store
from app.store.sql import Database, DatabaseUnavailable
from app.store.users import Directory, Project, Team, User

KIND = "users"
_AWAY = "the directory cannot be changed now; nothing was changed, try again"


class Users:
    """The directory. A user whom nobody has entered is in the team that their request names."""

    def __init__(self, database: Database, changes: Changes, *, organisation: str, team: str) -> None:
        self._database = database
        self._changes = changes
        self._organisation = organisation
        self._team = team
        self._directory = Directory()
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Read the directory from SQL. Raises DatabaseUnavailable."""
        self._directory = await store.load(self._database, self._organisation)

    def find(self, name: str) -> User | None:
        """Find a user by name."""
        return self._directory.users.get(name)

    def team_of(self, name: str) -> str:
        """Name a user's team; "" for one who is not in the directory."""
        user = self._directory.users.get(name)
        return user.team if user is not None else ""

    def project_team(self, project: str) -> str:
        """Name the team that answers for a project; "" for one that has none."""
        found = self._directory.projects.get(project)
        return found.team if found is not None else ""

    def covers(self, principal: Principal, action: str, user: str) -> bool:
        """Tell whether a principal may do this to what belongs to a user."""
        return covers(principal, action, user=user, team=self.team_of(user))

    def visible(self, principal: Principal) -> list[User]:
        """List the users whom a principal may see."""
        require(principal, "users.read")
        return [user for user in self._directory.users.values() if self.covers(principal, "users.read", user.name)]

    def get(self, principal: Principal, name: str) -> User:
        """Give a user.

        Raises:
            NotFound: there is none of that name whom the principal may see.
        """
        user = self.find(name)
        if user is None or not self.covers(principal, "users.read", name):
            raise NotFound(f"there is no user `{name}`")
        return user

    def teams(self, principal: Principal) -> list[Team]:
        """List the teams: those that were entered, and those that users or projects are in."""
        require(principal, "teams.read")
        named = {user.team for user in self._directory.users.values()}
        named |= {project.team for project in self._directory.projects.values()} | {self._team}
        teams = {name: Team(name=name) for name in named} | self._directory.teams
        return [teams[name] for name in sorted(teams)]

    def team(self, principal: Principal, name: str) -> Team:
        """Give a team.

        Raises:
            NotFound: there is none of that name.
        """
        for team in self.teams(principal):
            if team.name == name:
                return team
        raise NotFound(f"there is no team `{name}`")

    def projects(self, principal: Principal) -> list[Project]:
        """List the projects that a team answers for."""
        require(principal, "projects.read")
        return list(self._directory.projects.values())

    async def put_user(self, principal: Principal, name: str, *, team: str, disabled: bool, reason: str = "") -> User:
        """Enter a user, move them to a team, disable or enable them.

        Raises:
            Forbidden: the role may not.
            StoreUnavailable: the database is away; nothing was changed.
        """
        require(principal, "users.write")
        now = datetime.now(UTC)
        before = self.find(name)
        since = before.disabled_at if before is not None else None
        user = User(
            name=name,
            team=team or (before.team if before is not None else self._team),
            created_at=before.created_at if before is not None else now,
            disabled_at=(since or now) if disabled else None,
        )
        await self._store(principal, "user", name, before, user, reason)
        return user

    async def put_team(self, principal: Principal, team: Team, reason: str = "") -> Team:
        """Enter a team. Raises Forbidden and StoreUnavailable."""
        require(principal, "teams.write")
        await self._store(principal, "team", team.name, self._directory.teams.get(team.name), team, reason)
        return team

    async def put_project(self, principal: Principal, project: Project, reason: str = "") -> Project:
        """Say which team answers for a project. Raises Forbidden and StoreUnavailable."""
        require(principal, "projects.write")
        before = self._directory.projects.get(project.name)
        await self._store(principal, "project", project.name, before, project, reason)
        return project

    async def remove_user(self, principal: Principal, name: str, reason: str = "") -> None:
        """Remove a user from the directory; their tokens are refused from then on.

        Raises:
            Forbidden: the role may not.
            NotFound: there is none of that name.
            StoreUnavailable: the database is away; nothing was changed.
        """
        require(principal, "users.write")
        before = self.get(principal, name)
        await self._store(principal, "user", name, before, None, reason)

    async def enter(self, connection: AsyncConnection, user: User) -> None:
        """Enter a user within a transaction of somebody else's; `entered` must follow its commit."""
        await store.put(connection, self._organisation, user)
        await numbers.raise_number(connection, self._organisation, KIND)

    async def entered(self) -> None:
        """Read and tell others what a transaction of somebody else's has entered."""
        await self.load()
        self._changes.announce(KIND)

    async def _store(
        self,
        principal: Principal,
        kind: str,
        name: str,
        before: User | Team | Project | None,
        after: User | Team | Project | None,
        reason: str,
    ) -> None:
        try:
            async with self._database.transaction() as connection:
                if after is None:
                    await store.remove_user(connection, self._organisation, name)
                else:
                    await store.put(connection, self._organisation, after)
                await audit.add(
                    connection,
                    principal,
                    action=f"{kind}.{'remove' if after is None else 'put'}",
                    kind=kind,
                    object=name,
                    before=msgspec.to_builtins(before) if before is not None else None,
                    after=msgspec.to_builtins(after) if after is not None else None,
                    reason=reason,
                )
                await numbers.raise_number(connection, self._organisation, KIND)
            await self.load()
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        self._changes.announce(KIND)
