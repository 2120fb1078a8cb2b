"""Leadership between servers: the table of work that one server of many does at a time."""

from datetime import datetime, timedelta
from typing import ClassVar

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into


class LeadershipRow(SQLModel, table=True):
    """One piece of work, and until when a server leads it. The table's name is older: leases are runners' holds on jobs."""

    __tablename__ = "leases"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    work: str = Field(primary_key=True)
    until: datetime = Field(sa_type=UTCDateTime)


_leadership = LeadershipRow.__table__


async def take(database: Database, organisation: str, work: str, now: datetime, period: timedelta) -> bool:
    """Lead a piece of work for a period; return False if another server does."""
    insert = insert_into(database.dialect, _leadership).values(organisation=organisation, work=work, until=now + period)
    taken = insert.on_conflict_do_update(
        index_elements=["organisation", "work"], set_={"until": now + period}, where=_leadership.c.until <= now
    )
    async with database.transaction() as connection:
        return bool((await connection.execute(taken)).rowcount == 1)


async def until(connection: AsyncConnection, organisation: str, work: str) -> datetime | None:
    """Return until when a piece of work is, or last was, led; None if it never was."""
    query = select(_leadership.c.until).where(_leadership.c.organisation == organisation, _leadership.c.work == work)
    found: datetime | None = (await connection.execute(query)).scalar()
    return found
