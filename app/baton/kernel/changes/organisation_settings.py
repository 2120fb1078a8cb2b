"""The table of an organisation's own settings, and its queries."""

from typing import Any, ClassVar

from sqlalchemy import JSON, Column, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, insert_into


class OrganisationSettingRow(SQLModel, table=True):
    """One setting; `version` counts its changes."""

    __tablename__ = "organisation_settings"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    value: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    version: int


_settings = OrganisationSettingRow.__table__


async def get(database: Database, organisation: str, key: str) -> tuple[dict[str, Any], int]:
    """Read a setting and its version; ({}, 0) where it was never set."""
    async with database.transaction() as connection:
        return await get_with(connection, organisation, key)


async def get_with(connection: AsyncConnection, organisation: str, key: str) -> tuple[dict[str, Any], int]:
    """Read a setting and its version within a transaction; ({}, 0) where it was never set."""
    query = select(_settings.c.value, _settings.c.version).where(
        _settings.c.organisation == organisation, _settings.c.key == key
    )
    row = (await connection.execute(query)).first()
    return (row[0], row[1]) if row is not None else ({}, 0)


async def put(connection: AsyncConnection, organisation: str, key: str, value: dict[str, Any], version: int) -> None:
    """Store a setting as this version, in a change that lets nobody else change it (`kernel.changes.write`)."""
    row = {"organisation": organisation, "key": key, "value": value, "version": version}
    insert = insert_into(connection.dialect.name, _settings).values(row)
    await connection.execute(insert.on_conflict_do_update(index_elements=["organisation", "key"], set_=row))
