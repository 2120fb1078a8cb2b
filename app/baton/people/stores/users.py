"""The tables of users, teams, projects and aliases."""

from datetime import datetime
from typing import Any, ClassVar, TypeVar

import msgspec
from sqlalchemy import Table, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into, row_of
from baton.kernel.base.storable import storable
from baton.people.directory import Alias, Directory, Project, Team, User


class UserRow(SQLModel, table=True):
    """One person or machine with tokens."""

    __tablename__ = "users"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    team: str
    created_at: datetime = Field(sa_type=UTCDateTime)
    disabled_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    role: str = Field(default="developer", sa_column_kwargs={"server_default": "developer"})
    account: str = Field(default="", sa_column_kwargs={"server_default": ""})


class TeamRow(SQLModel, table=True):
    """A team added explicitly. Users and projects may name others."""

    __tablename__ = "teams"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    keep_prompts: bool = False


class ProjectRow(SQLModel, table=True):
    """A project's team."""

    __tablename__ = "projects"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    team: str


class AliasRow(SQLModel, table=True):
    """An alias of a project."""

    __tablename__ = "project_aliases"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    project: str


T = TypeVar("T", User, Team, Project, Alias)
_TABLES: dict[type, Table] = {
    User: UserRow.__table__,
    Team: TeamRow.__table__,
    Project: ProjectRow.__table__,
    Alias: AliasRow.__table__,
}


async def load(database: Database, organisation: str) -> Directory:
    """Load the directory of an organisation."""
    async with database.transaction() as connection:
        return await load_with(connection, organisation)


async def load_with(connection: AsyncConnection, organisation: str) -> Directory:
    """Load the directory within a transaction."""
    users = await _rows(connection, UserRow.__table__, organisation, User)
    teams = await _rows(connection, TeamRow.__table__, organisation, Team)
    projects = await _rows(connection, ProjectRow.__table__, organisation, Project)
    aliases = await _rows(connection, AliasRow.__table__, organisation, Alias)
    return Directory(
        users={user.name: user for user in users},
        teams={team.name: team for team in teams},
        projects={project.name: project for project in projects},
        aliases={alias.name: alias for alias in aliases},
    )


async def _rows(connection: AsyncConnection, table: Table, organisation: str, kind: Any) -> list[Any]:
    query = select(table).where(table.c.organisation == organisation).order_by(table.c.name)
    return [msgspec.convert(row._asdict(), kind) for row in await connection.execute(query)]


async def find(connection: AsyncConnection, organisation: str, kind: type[T], name: str) -> T | None:
    """Read a user, a team, a project or an alias by name."""
    table = _TABLES[kind]
    query = select(table).where(table.c.organisation == organisation, table.c.name == storable(name))
    row = (await connection.execute(query)).first()
    return None if row is None else msgspec.convert(row._asdict(), kind)


async def put(connection: AsyncConnection, organisation: str, row: User | Team | Project | Alias) -> None:
    """Insert or replace a user, a team, a project or an alias."""
    table = _TABLES[type(row)]
    values = row_of(row)
    insert = insert_into(connection.dialect.name, table).values(values | {"organisation": organisation})
    await connection.execute(insert.on_conflict_do_update(index_elements=["organisation", "name"], set_=values))


async def remove(connection: AsyncConnection, organisation: str, kind: type[T], name: str) -> None:
    """Delete a row of the directory. Records of a user's activity remain."""
    table = _TABLES[kind]
    await connection.execute(delete(table).where(table.c.organisation == organisation, table.c.name == storable(name)))
