"""The table of work that one process of many does at a time. It does not do the work."""

from datetime import datetime, timedelta
from typing import ClassVar

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into


class LeaseRow(SQLModel, table=True):
    """One piece of work, and until when it is taken."""

    __tablename__ = "leases"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    work: str = Field(primary_key=True)
    until: datetime = Field(sa_type=UTCDateTime)


_leases = LeaseRow.__table__


async def take(database: Database, organisation: str, work: str, now: datetime, period: timedelta) -> bool:
    """Take a piece of work for a period; False if somebody has it."""
    insert = insert_into(database.dialect, _leases).values(organisation=organisation, work=work, until=now + period)
    taken = insert.on_conflict_do_update(
        index_elements=["organisation", "work"], set_={"until": now + period}, where=_leases.c.until <= now
    )
    async with database.transaction() as connection:
        return bool((await connection.execute(taken)).rowcount == 1)


async def until(connection: AsyncConnection, organisation: str, work: str) -> datetime | None:
    """Tell until when a piece of work is, or was last, taken; None if it never was."""
    query = select(_leases.c.until).where(_leases.c.organisation == organisation, _leases.c.work == work)
    found: datetime | None = (await connection.execute(query)).scalar()
    return found
