"""Tables of changes to shared state: a counter per kind, and the changed objects."""

from collections.abc import Sequence
from typing import ClassVar

from sqlalchemy import Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, insert_into


class ChangeRow(SQLModel, table=True):
    """The number of changes of one kind of state."""

    __tablename__ = "changes"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    number: int


class ChangedObjectRow(SQLModel, table=True):
    """One object of a change, such as a setting's key. Small kinds list no objects."""

    __tablename__ = "changed_objects"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    part: int = Field(primary_key=True)
    object: str


MOST_CHANGES = 1_000  # changes per kind with known objects. After more, the whole kind is reloaded.
_NOTHING = ""  # placeholder for a change without objects

_changes = ChangeRow.__table__
_objects = ChangedObjectRow.__table__


async def raise_number(connection: AsyncConnection, organisation: str, kind: str) -> int:
    """Count a change in its own transaction. Return its number."""
    first = insert_into(connection.dialect.name, _changes).values(organisation=organisation, kind=kind, number=1)
    raised = first.on_conflict_do_update(
        index_elements=["organisation", "kind"], set_={"number": _changes.c.number + 1}
    )
    return int((await connection.execute(raised.returning(_changes.c.number))).scalar_one())


async def name_objects(
    connection: AsyncConnection, organisation: str, kind: str, number: int, objects: Sequence[str]
) -> None:
    """Store the objects of a change, possibly none, and delete those of old changes."""
    rows = [
        {"organisation": organisation, "kind": kind, "number": number, "part": part, "object": one}
        for part, one in enumerate(objects or [_NOTHING])
    ]
    await connection.execute(insert(_objects), rows)
    old = _objects.c.number <= number - MOST_CHANGES
    await connection.execute(
        delete(_objects).where(_objects.c.organisation == organisation, _objects.c.kind == kind, old)
    )


async def objects_since(
    connection: AsyncConnection, organisation: str, kind: str, seen: int, number: int
) -> list[str] | None:
    """Return the objects of the changes after `seen` up to `number`, or None if some are unknown."""
    if number - seen > MOST_CHANGES:
        return None
    query = select(_objects.c.number, _objects.c.object).where(
        _objects.c.organisation == organisation, _objects.c.kind == kind, _objects.c.number > seen,
        _objects.c.number <= number
    )  # fmt: skip
    rows = (await connection.execute(query)).all()
    known = {row.number for row in rows}
    objects = {row.object for row in rows} - {_NOTHING}
    return sorted(objects) if len(known) == number - seen else None


async def numbers(database: Database, organisation: str) -> dict[str, int]:
    """Read all counters of an organisation."""
    query = select(_changes.c.kind, _changes.c.number).where(_changes.c.organisation == organisation)
    async with database.transaction() as connection:
        return {row[0]: row[1] for row in (await connection.execute(query)).all()}
