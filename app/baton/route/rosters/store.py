"""The table of pushed rosters, every version of each, and its queries."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, table_of, types_of
from baton.lib.text.masking import mask, mask_json
from baton.route.rosters.roster import NewVersion, PushedRoster, RosterKey
from baton.shared.storable import storable

ROSTERS = table_of(
    "routing_rosters",
    types_of(PushedRoster) | {"agents": list[dict[str, Any]], "active": bool},
    keys=("organisation", "tier", "owner", "name", "version"),
)
"""The versions of rosters; at most one of each is active. `agents` are whole."""


# Agents come to megabytes, and are read of one roster at a time, when it is indexed.
_WITHOUT_AGENTS = tuple(ROSTERS.c[name] for name in PushedRoster.__struct_fields__)


async def active(database: Database, organisation: str) -> list[PushedRoster]:
    """Read the active version of every roster, without its agents. Raise DatabaseUnavailable."""
    query = select(*_WITHOUT_AGENTS).where(ROSTERS.c.organisation == organisation, ROSTERS.c.active)
    return await database.read(query.order_by(ROSTERS.c.tier, ROSTERS.c.owner, ROSTERS.c.name), PushedRoster)


async def active_of(database: Database, organisation: str, keys: Sequence[RosterKey]) -> list[PushedRoster]:
    """Read the active versions of some rosters, without their agents. Raise DatabaseUnavailable."""
    named = [(key.tier, storable(key.owner), storable(key.name)) for key in keys]
    query = select(*_WITHOUT_AGENTS).where(
        ROSTERS.c.organisation == organisation,
        tuple_(ROSTERS.c.tier, ROSTERS.c.owner, ROSTERS.c.name).in_(named),
        ROSTERS.c.active,
    )
    return await database.read(query, PushedRoster)


async def agents(database: Database, organisation: str, roster: PushedRoster) -> list[dict[str, Any]]:
    """Read the agents of a version, an empty list if it is gone. Raise DatabaseUnavailable."""
    query = select(ROSTERS.c.agents).where(*_of(organisation, roster.key), ROSTERS.c.version == roster.version)
    async with database.transaction() as connection:
        found: list[dict[str, Any]] | None = (await connection.execute(query)).scalar()
    return found or []


async def active_version(connection: AsyncConnection, organisation: str, key: RosterKey) -> int:
    """Return the number of the active version, 0 if none is active."""
    query = select(ROSTERS.c.version).where(*_of(organisation, key), ROSTERS.c.active)
    return int((await connection.execute(query)).scalar() or 0)


async def add(
    connection: AsyncConnection, organisation: str, key: RosterKey, new: NewVersion, *, digest: str, by: str
) -> int:
    """Store a new version as the active one, and return its number. The transaction must hold the change's number."""
    query = select(func.max(ROSTERS.c.version)).where(*_of(organisation, key))
    version = int((await connection.execute(query)).scalar() or 0) + 1
    await retire(connection, organisation, key)
    await connection.execute(
        insert(ROSTERS).values(
            organisation=organisation,
            tier=key.tier,
            owner=storable(key.owner),
            name=storable(key.name),
            version=version,
            description=mask(storable(new.description)),
            agents=mask_json([msgspec.to_builtins(agent) for agent in new.agents]),
            digest=digest,
            size=len(new.agents),
            active=True,
            created_at=datetime.now(UTC),
            created_by=storable(by),
            reason=mask(storable(new.reason)),
        )
    )
    return version


async def retire(connection: AsyncConnection, organisation: str, key: RosterKey) -> None:
    """Deactivate all versions of a roster."""
    where = (*_of(organisation, key), ROSTERS.c.active)
    await connection.execute(update(ROSTERS).where(*where).values(active=False))


def _of(organisation: str, key: RosterKey) -> tuple[Any, ...]:
    return (
        ROSTERS.c.organisation == organisation,
        ROSTERS.c.tier == key.tier,
        ROSTERS.c.owner == storable(key.owner),
        ROSTERS.c.name == storable(key.name),
    )
