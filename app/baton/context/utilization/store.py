"""The table of what was put into prompts and what of it was used, summed by day, user and source."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import ClassVar

import msgspec
from sqlalchemy import Table, delete, func, select
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, insert_into
from baton.kernel.base.storable import storable
from baton.people.row_scope import RowScope


class ContextDayRow(SQLModel, table=True):
    """One day (UTC) of one user and one source."""

    __tablename__ = "context_days"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    day: str = Field(primary_key=True)
    team: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    source: str = Field(primary_key=True)
    prompts: int
    tokens: int
    measured: int
    used: int
    injected: int
    reused: int


class Key(msgspec.Struct, frozen=True):
    """Of which organisation, day, team, user and source a sum is."""

    organisation: str
    day: str
    team: str
    user: str
    source: str


class Sums(msgspec.Struct, kw_only=True):
    """Prompts that something was added to, and its tokens; of the measured ones, those of which something was used.

    `injected` and `reused` count identifiers of measured prompts.
    """

    prompts: int = 0
    tokens: int = 0
    measured: int = 0
    used: int = 0
    injected: int = 0
    reused: int = 0


_days = ContextDayRow.__table__
_SUMMED = tuple(Sums.__struct_fields__)


async def add(database: Database, sums: Mapping[Key, Sums]) -> None:
    """Add sums to those that are stored. Raise DatabaseUnavailable; nothing was added then."""
    rows = [
        {name: storable(value) for name, value in msgspec.structs.asdict(key).items()} | msgspec.structs.asdict(value)
        for key, value in sums.items()
    ]
    insert = insert_into(database.dialect, _days)
    upsert = insert.on_conflict_do_update(
        index_elements=list(Key.__struct_fields__),
        set_={name: _days.c[name] + insert.excluded[name] for name in _SUMMED},
    )
    async with database.transaction() as connection:
        await connection.execute(upsert, rows)


async def find(
    database: Database, organisation: str, scope: RowScope, since: datetime, until: datetime, team: str = ""
) -> dict[str, Sums]:
    """Return the sums by source, of the days from one moment's to another's. Raise DatabaseUnavailable."""
    query = (
        select(_days.c.source, *(func.sum(_days.c[name]).label(name) for name in _SUMMED))
        .where(_days.c.organisation == organisation, _days.c.day >= day_of(since), _days.c.day <= day_of(until))
        .group_by(_days.c.source)
    )
    if team:
        query = query.where(_days.c.team == storable(team))
    async with database.transaction() as connection:
        rows = (await connection.execute(scope.limit(query, _days))).all()
    return {row.source: Sums(**{name: int(getattr(row, name)) for name in _SUMMED}) for row in rows}


async def purge(database: Database, organisation: str, before: datetime) -> int:
    """Remove the days before a moment's; return how many rows went. Raise DatabaseUnavailable."""
    where = (_days.c.organisation == organisation, _days.c.day < day_of(before))
    async with database.transaction() as connection:
        return (await connection.execute(delete(_days).where(*where))).rowcount


def day_of(moment: datetime) -> str:
    """Return the day of a moment in UTC, as it is stored."""
    return moment.astimezone(UTC).date().isoformat()
