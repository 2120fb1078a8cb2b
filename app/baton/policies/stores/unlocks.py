"""The table of unlocks (locked rules that an admin freed for a time), and its queries."""

from datetime import datetime
from typing import ClassVar

import msgspec
from sqlalchemy import Index, Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.engine.policy.rules.locks import Unlock
from baton.kernel.base.sql import Database, UTCDateTime, row_of


class PolicyUnlockRow(SQLModel, table=True):
    """One rule, or pattern of rules, that is unlocked; `team` and `user` are "" for everybody."""

    __tablename__ = "policy_unlocks"
    __table_args__ = (Index("ix_policy_unlocks_organisation", "organisation", "until"),)
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    rule: str
    team: str
    user: str
    reason: str
    created_by: str
    created_at: datetime = Field(sa_type=UTCDateTime)
    until: datetime = Field(sa_type=UTCDateTime)


_unlocks = PolicyUnlockRow.__table__


class StoredUnlock(msgspec.Struct, frozen=True, kw_only=True):
    """Rules (an id, or a glob over ids) that no lock holds until a time: for a team, for a user, or for everybody."""

    id: str
    rule: str
    team: str
    user: str
    reason: str
    created_by: str
    created_at: datetime
    until: datetime

    @property
    def for_everybody(self) -> bool:
        """Whether it holds in the whole organisation."""
        return not (self.team or self.user)

    def concerns(self, *, team: str, user: str) -> bool:
        """Return whether it holds for a user of a team."""
        return self.for_everybody or (self.user == user if self.user else self.team == team)

    def for_engine(self) -> Unlock:
        """Return it as the engine knows it, with a note for those who read an explanation."""
        until = self.until.isoformat(timespec="minutes")
        return Unlock(pattern=self.rule, note=f"by {self.created_by} until {until}: {self.reason}")


async def load(database: Database, organisation: str, now: datetime) -> list[StoredUnlock]:
    """Read the unlocks that have not ended, the oldest first."""
    query = (
        select(*(column for column in _unlocks.c if column.name != "organisation"))
        .where(_unlocks.c.organisation == organisation, _unlocks.c.until > now)
        .order_by(_unlocks.c.id)
    )
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), StoredUnlock) for row in rows]


async def add(connection: AsyncConnection, organisation: str, unlock: StoredUnlock) -> None:
    """Store an unlock."""
    await connection.execute(
        insert(_unlocks).values(row_of(unlock, masked=("reason",)) | {"organisation": organisation})
    )


async def remove(connection: AsyncConnection, organisation: str, unlock_id: str) -> bool:
    """Remove an unlock. Return False if it was gone already."""
    gone = delete(_unlocks).where(_unlocks.c.organisation == organisation, _unlocks.c.id == unlock_id)
    return (await connection.execute(gone)).rowcount == 1
