"""The table of unlocks (locked rules freed temporarily by an admin)."""

from datetime import datetime

import msgspec
from sqlalchemy import Index, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, row_of, table_of
from baton.rules.policy.rules.files import Unlock


class StoredUnlock(msgspec.Struct, frozen=True, kw_only=True):
    """A rule or pattern unlocked `until` then, for a team or a user; both are "" for everybody."""

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


UNLOCKS = table_of("policy_unlocks", StoredUnlock, Index("ix_policy_unlocks_organisation", "organisation", "until"))


async def load(database: Database, organisation: str, now: datetime) -> list[StoredUnlock]:
    """Load the current unlocks, oldest first."""
    query = (
        select(*(column for column in UNLOCKS.c if column.name != "organisation"))
        .where(UNLOCKS.c.organisation == organisation, UNLOCKS.c.until > now)
        .order_by(UNLOCKS.c.id)
    )
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), StoredUnlock) for row in rows]


async def add(connection: AsyncConnection, organisation: str, unlock: StoredUnlock) -> None:
    """Store an unlock."""
    await connection.execute(
        insert(UNLOCKS).values(row_of(unlock, masked=("reason",)) | {"organisation": organisation})
    )


async def remove(connection: AsyncConnection, organisation: str, unlock_id: str) -> bool:
    """Delete an unlock. Return False if it did not exist."""
    gone = delete(UNLOCKS).where(UNLOCKS.c.organisation == organisation, UNLOCKS.c.id == unlock_id)
    return (await connection.execute(gone)).rowcount == 1
