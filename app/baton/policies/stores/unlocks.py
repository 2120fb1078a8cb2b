"""The table of unlocks (locked rules freed temporarily by an admin)."""

from datetime import datetime
from typing import ClassVar

import msgspec
from sqlalchemy import Index, Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, row_of
from baton.rules.policy.rules.files import Unlock


class PolicyUnlockRow(SQLModel, table=True):
    """One unlocked rule or pattern. `team` and `user` are "" for everybody."""

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
    """Temporarily unlocked rules (an id or a glob) of a team, a user or everybody."""

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
        """Whether it applies to the whole organisation."""
        return not (self.team or self.user)

    def concerns(self, *, team: str, user: str) -> bool:
        """Return whether it applies to a user of a team."""
        return self.for_everybody or (self.user == user if self.user else self.team == team)

    def for_engine(self) -> Unlock:
        """Convert it for the rule engine, with a note for explanations."""
        until = self.until.isoformat(timespec="minutes")
        return Unlock(pattern=self.rule, note=f"by {self.created_by} until {until}: {self.reason}")


async def load(database: Database, organisation: str, now: datetime) -> list[StoredUnlock]:
    """Load the current unlocks, oldest first."""
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
    """Delete an unlock. Return False if it did not exist."""
    gone = delete(_unlocks).where(_unlocks.c.organisation == organisation, _unlocks.c.id == unlock_id)
    return (await connection.execute(gone)).rowcount == 1
