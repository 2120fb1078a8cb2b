"""The tables of users, teams, projects and aliases."""

from typing import Any, TypeVar

import msgspec
from sqlalchemy import Table, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, row_of, table_of, upsert
from baton.people.directory import Alias, Directory, Project, Team, User
from baton.shared.storable import storable

T = TypeVar("T", User, Team, Project, Alias)
_KEYS = ("organisation", "name")
TABLES: dict[type, Table] = {
    User: table_of("users", User, keys=_KEYS),
    Team: table_of("teams", Team, keys=_KEYS),
    Project: table_of("projects", Project, keys=_KEYS),
    Alias: table_of("project_aliases", Alias, keys=_KEYS),
}
"""The tables of users, of explicitly added teams, of projects and of their aliases."""


async def load(database: Database, organisation: str) -> Directory:
    """Load the directory of an organisation."""
    async with database.transaction() as connection:
        return await load_with(connection, organisation)


async def load_with(connection: AsyncConnection, organisation: str) -> Directory:
    """Load the directory within a transaction."""
    users = await _rows(connection, organisation, User)
    teams = await _rows(connection, organisation, Team)
    projects = await _rows(connection, organisation, Project)
    aliases = await _rows(connection, organisation, Alias)
    return Directory(
        users={user.name: user for user in users},
        teams={team.name: team for team in teams},
        projects={project.name: project for project in projects},
        aliases={alias.name: alias for alias in aliases},
    )


async def _rows(connection: AsyncConnection, organisation: str, kind: Any) -> list[Any]:
    table = TABLES[kind]
    query = select(table).where(table.c.organisation == organisation).order_by(table.c.name)
    return [msgspec.convert(row._asdict(), kind) for row in await connection.execute(query)]


async def find_row(connection: AsyncConnection, organisation: str, kind: type[T], name: str) -> T | None:
    """Read a user, a team, a project or an alias by name."""
    table = TABLES[kind]
    query = select(table).where(table.c.organisation == organisation, table.c.name == storable(name))
    row = (await connection.execute(query)).first()
    return None if row is None else msgspec.convert(row._asdict(), kind)


async def put_row(connection: AsyncConnection, organisation: str, row: User | Team | Project | Alias) -> None:
    """Insert or replace a user, a team, a project or an alias."""
    await upsert(connection, TABLES[type(row)], row_of(row) | {"organisation": organisation})


async def remove(connection: AsyncConnection, organisation: str, kind: type[T], name: str) -> None:
    """Delete a row of the directory. Records of a user's activity remain."""
    table = TABLES[kind]
    await connection.execute(delete(table).where(table.c.organisation == organisation, table.c.name == storable(name)))
