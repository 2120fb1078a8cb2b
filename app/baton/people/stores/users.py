"""The tables of users, teams and projects, and their queries."""

from datetime import datetime
from typing import Any, ClassVar, TypeVar

import msgspec
from sqlalchemy import Table, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into, row_of
from baton.kernel.base.storable import storable
from baton.people.directory import Directory, Project, Team, User


class UserRow(SQLModel, table=True):
    """One person or machine that tokens speak for."""

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
    """A team that was entered; users and projects may name others."""

    __tablename__ = "teams"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    keep_prompts: bool = False


class ProjectRow(SQLModel, table=True):
    """Which team a project belongs to."""

    __tablename__ = "projects"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    team: str


T = TypeVar("T", User, Team, Project)
_TABLES: dict[type, Table] = {User: UserRow.__table__, Team: TeamRow.__table__, Project: ProjectRow.__table__}


async def load(database: Database, organisation: str) -> Directory:
    """Read the whole directory of an organisation."""
    async with database.transaction() as connection:
        return await load_with(connection, organisation)


async def load_with(connection: AsyncConnection, organisation: str) -> Directory:
    """Read the whole directory within a transaction."""
    users = await _rows(connection, UserRow.__table__, organisation, User)
    teams = await _rows(connection, TeamRow.__table__, organisation, Team)
    projects = await _rows(connection, ProjectRow.__table__, organisation, Project)
    return Directory(
        users={user.name: user for user in users},
        teams={team.name: team for team in teams},
        projects={project.name: project for project in projects},
    )


async def _rows(connection: AsyncConnection, table: Table, organisation: str, kind: Any) -> list[Any]:
    query = select(table).where(table.c.organisation == organisation).order_by(table.c.name)
    return [msgspec.convert(row._asdict(), kind) for row in await connection.execute(query)]


async def find(connection: AsyncConnection, organisation: str, kind: type[T], name: str) -> T | None:
    """Read a user, a team or a project by name."""
    table = _TABLES[kind]
    query = select(table).where(table.c.organisation == organisation, table.c.name == storable(name))
    row = (await connection.execute(query)).first()
    return None if row is None else msgspec.convert(row._asdict(), kind)


async def put(connection: AsyncConnection, organisation: str, row: User | Team | Project) -> None:
    """Store a user, a team or a project, in the place of the one of that name."""
    table = _TABLES[type(row)]
    values = row_of(row)
    insert = insert_into(connection.dialect.name, table).values(values | {"organisation": organisation})
    await connection.execute(insert.on_conflict_do_update(index_elements=["organisation", "name"], set_=values))


async def remove_user(connection: AsyncConnection, organisation: str, name: str) -> None:
    """Remove a user from the directory; what they did stays."""
    table = UserRow.__table__
    await connection.execute(delete(table).where(table.c.organisation == organisation, table.c.name == storable(name)))
