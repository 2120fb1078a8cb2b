"""The table of pushed rosters, every version of each, and its queries."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec
from sqlalchemy import JSON, Column, Table, func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime
from baton.lib.text.masking import mask, mask_json
from baton.route.rosters.roster import NewVersion, PushedRoster, RosterKey
from baton.shared.storable import storable


class RoutingRosterRow(SQLModel, table=True):
    """One version of one roster; at most one is active. `agents` are whole, `digest` names their content."""

    __tablename__ = "routing_rosters"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    tier: str = Field(primary_key=True)
    owner: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    description: str
    agents: list[dict[str, Any]] = Field(sa_column=Column(JSON, nullable=False))
    digest: str
    size: int
    active: bool
    created_at: datetime = Field(sa_type=UTCDateTime)
    created_by: str
    reason: str


_rosters = RoutingRosterRow.__table__
# Agents come to megabytes, and are read of one roster at a time, when it is indexed.
_WITHOUT_AGENTS = tuple(column for column in _rosters.c if column.name not in {"organisation", "agents", "active"})


async def active(database: Database, organisation: str) -> list[PushedRoster]:
    """Read the active version of every roster, without its agents. Raise DatabaseUnavailable."""
    query = select(*_WITHOUT_AGENTS).where(_rosters.c.organisation == organisation, _rosters.c.active)
    async with database.transaction() as connection:
        rows = (await connection.execute(query.order_by(_rosters.c.tier, _rosters.c.owner, _rosters.c.name))).all()
    return [msgspec.convert(row._asdict(), PushedRoster) for row in rows]


async def active_of(database: Database, organisation: str, keys: Sequence[RosterKey]) -> list[PushedRoster]:
    """Read the active versions of some rosters, without their agents. Raise DatabaseUnavailable."""
    named = [(key.tier, storable(key.owner), storable(key.name)) for key in keys]
    query = select(*_WITHOUT_AGENTS).where(
        _rosters.c.organisation == organisation,
        tuple_(_rosters.c.tier, _rosters.c.owner, _rosters.c.name).in_(named),
        _rosters.c.active,
    )
    async with database.transaction() as connection:
        return [msgspec.convert(row._asdict(), PushedRoster) for row in await connection.execute(query)]


async def agents(database: Database, organisation: str, roster: PushedRoster) -> list[dict[str, Any]]:
    """Read the agents of a version, an empty list if it is gone. Raise DatabaseUnavailable."""
    query = select(_rosters.c.agents).where(*_of(organisation, roster.key), _rosters.c.version == roster.version)
    async with database.transaction() as connection:
        found: list[dict[str, Any]] | None = (await connection.execute(query)).scalar()
    return found or []


async def active_version(connection: AsyncConnection, organisation: str, key: RosterKey) -> int:
    """Return the number of the active version, 0 if none is active."""
    query = select(_rosters.c.version).where(*_of(organisation, key), _rosters.c.active)
    return int((await connection.execute(query)).scalar() or 0)


async def add(
    connection: AsyncConnection, organisation: str, key: RosterKey, new: NewVersion, *, digest: str, by: str
) -> int:
    """Store a new version as the active one, and return its number. The transaction must hold the change's number."""
    query = select(func.max(_rosters.c.version)).where(*_of(organisation, key))
    version = int((await connection.execute(query)).scalar() or 0) + 1
    await retire(connection, organisation, key)
    await connection.execute(
        insert(_rosters).values(
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
    where = (*_of(organisation, key), _rosters.c.active)
    await connection.execute(update(_rosters).where(*where).values(active=False))


def _of(organisation: str, key: RosterKey) -> tuple[Any, ...]:
    return (
        _rosters.c.organisation == organisation,
        _rosters.c.tier == key.tier,
        _rosters.c.owner == storable(key.owner),
        _rosters.c.name == storable(key.name),
    )
