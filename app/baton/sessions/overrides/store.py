"""The table of overrides (rules lifted for one session), and its queries."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

import msgspec
from sqlalchemy import Index, Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, row_of


class OverrideRow(SQLModel, table=True):
    """One rule lifted for one session of one user."""

    __tablename__ = "overrides"
    __table_args__ = (Index("ix_overrides_organisation", "organisation", "expires_at"),)
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    session_id: str
    user: str
    rule: str
    reason: str
    created_by: str
    created_at: datetime = Field(sa_type=UTCDateTime)
    expires_at: datetime = Field(sa_type=UTCDateTime)


_overrides = OverrideRow.__table__


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """A rule (`*` for every rule that the mode switches) that has no effect on a session until `expires_at`."""

    id: str
    session_id: str
    user: str
    rule: str
    reason: str
    created_by: str
    created_at: datetime
    expires_at: datetime


async def load(database: Database, organisation: str, now: datetime) -> list[Override]:
    """Read the overrides that have not expired, the oldest first."""
    query = (
        select(_overrides)
        .where(_overrides.c.organisation == organisation, _overrides.c.expires_at > now)
        .order_by(_overrides.c.id)
    )
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), Override) for row in rows]


async def load_some(database: Database, organisation: str, ids: Sequence[str], now: datetime) -> list[Override]:
    """Read the overrides of these ids that have not expired."""
    query = select(_overrides).where(
        _overrides.c.organisation == organisation, _overrides.c.id.in_(ids), _overrides.c.expires_at > now
    )
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), Override) for row in rows]


async def add(connection: AsyncConnection, organisation: str, override: Override) -> None:
    """Store an override."""
    await connection.execute(
        insert(_overrides).values(row_of(override, masked=("reason",)) | {"organisation": organisation})
    )


async def remove(connection: AsyncConnection, organisation: str, override_id: str) -> bool:
    """Remove an override. Return False if it was gone already."""
    gone = delete(_overrides).where(_overrides.c.organisation == organisation, _overrides.c.id == override_id)
    return (await connection.execute(gone)).rowcount == 1
