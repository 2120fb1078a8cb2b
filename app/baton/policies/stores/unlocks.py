"""The table of unlocks (locked rules freed temporarily by an admin)."""

from datetime import datetime

from sqlalchemy import Index, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, row_of, table_of
from baton.policies.layer_versions import StoredUnlock

UNLOCKS = table_of("policy_unlocks", StoredUnlock, Index("ix_policy_unlocks_organisation", "organisation", "until"))


async def load(database: Database, organisation: str, now: datetime) -> list[StoredUnlock]:
    """Load the current unlocks, oldest first."""
    query = (
        select(*(column for column in UNLOCKS.c if column.name != "organisation"))
        .where(UNLOCKS.c.organisation == organisation, UNLOCKS.c.until > now)
        .order_by(UNLOCKS.c.id)
    )
    return await database.read(query, StoredUnlock)


async def add(connection: AsyncConnection, organisation: str, unlock: StoredUnlock) -> None:
    """Store an unlock."""
    await connection.execute(
        insert(UNLOCKS).values(row_of(unlock, masked=("reason",)) | {"organisation": organisation})
    )


async def remove(connection: AsyncConnection, organisation: str, unlock_id: str) -> bool:
    """Delete an unlock. Return False if it did not exist."""
    gone = delete(UNLOCKS).where(UNLOCKS.c.organisation == organisation, UNLOCKS.c.id == unlock_id)
    return (await connection.execute(gone)).rowcount == 1
