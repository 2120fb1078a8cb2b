"""The table that counts changes of shared state by kind, so that every process can tell what it must read again.

It does not say what changed: the state's own table does.
"""

from typing import ClassVar

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, insert_into


class ChangeRow(SQLModel, table=True):
    """How often a kind of state has changed."""

    __tablename__ = "changes"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    number: int


_changes = ChangeRow.__table__


async def raise_number(connection: AsyncConnection, organisation: str, kind: str) -> None:
    """Count a change, in the transaction of the change itself."""
    insert = insert_into(connection.dialect.name, _changes).values(organisation=organisation, kind=kind, number=1)
    await connection.execute(
        insert.on_conflict_do_update(index_elements=["organisation", "kind"], set_={"number": _changes.c.number + 1})
    )


async def numbers(database: Database, organisation: str) -> dict[str, int]:
    """Read all counts of an organisation."""
    query = select(_changes.c.kind, _changes.c.number).where(_changes.c.organisation == organisation)
    async with database.transaction() as connection:
        return {row[0]: row[1] for row in (await connection.execute(query)).all()}
