"""Tables of changes to shared state: a counter per kind, and the changed objects."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, insert_into, table_of

CHANGES = table_of("changes", {"number": int}, keys=("organisation", "kind"))
"""The number of changes of each kind of state."""
OBJECTS = table_of(
    "changed_objects", {"number": int, "part": int, "object": str}, keys=("organisation", "kind", "number", "part")
)
"""The objects of changes, such as a setting's key. Small kinds list no objects."""


MOST_CHANGES = 1_000  # changes per kind with known objects. After more, the whole kind is reloaded.
_NOTHING = ""  # placeholder for a change without objects


async def raise_number(connection: AsyncConnection, organisation: str, kind: str) -> int:
    """Count a change in its own transaction. Return its number."""
    first = insert_into(connection.dialect.name, CHANGES).values(organisation=organisation, kind=kind, number=1)
    raised = first.on_conflict_do_update(index_elements=["organisation", "kind"], set_={"number": CHANGES.c.number + 1})
    return int((await connection.execute(raised.returning(CHANGES.c.number))).scalar_one())


async def name_objects(
    connection: AsyncConnection, organisation: str, kind: str, number: int, objects: Sequence[str]
) -> None:
    """Store the objects of a change, possibly none, and delete those of old changes."""
    rows = [
        {"organisation": organisation, "kind": kind, "number": number, "part": part, "object": one}
        for part, one in enumerate(objects or [_NOTHING])
    ]
    await connection.execute(insert(OBJECTS), rows)
    old = OBJECTS.c.number <= number - MOST_CHANGES
    await connection.execute(delete(OBJECTS).where(OBJECTS.c.organisation == organisation, OBJECTS.c.kind == kind, old))


async def objects_since(
    connection: AsyncConnection, organisation: str, kind: str, seen: int, number: int
) -> list[str] | None:
    """Return the objects of the changes after `seen` up to `number`, or None if some are unknown."""
    if number - seen > MOST_CHANGES:
        return None
    query = select(OBJECTS.c.number, OBJECTS.c.object).where(
        OBJECTS.c.organisation == organisation, OBJECTS.c.kind == kind, OBJECTS.c.number > seen,
        OBJECTS.c.number <= number
    )  # fmt: skip
    rows = (await connection.execute(query)).all()
    known = {row.number for row in rows}
    objects = {row.object for row in rows} - {_NOTHING}
    return sorted(objects) if len(known) == number - seen else None


async def numbers(database: Database, organisation: str) -> dict[str, int]:
    """Read all counters of an organisation."""
    query = select(CHANGES.c.kind, CHANGES.c.number).where(CHANGES.c.organisation == organisation)
    return {row[0]: row[1] for row in await database.rows(query)}
