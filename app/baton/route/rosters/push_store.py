"""The table of rosters that teams push, every version of each. It neither reads nor judges an agent."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

import msgspec
from sqlalchemy import JSON, Column, Table, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, storable

Tier = Literal["team", "organisation"]
ORGANISATION = "-"
"""The owner of an organisation's roster."""


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
_DESCRIBED = tuple(column for column in _rosters.c if column.name not in {"organisation", "agents", "active"})


class PushedRoster(msgspec.Struct, frozen=True, kw_only=True):
    """A version without its agents; `size` is their number, `owner` the team, or "-" for the organisation."""

    tier: Tier
    owner: str
    name: str
    version: int
    description: str
    digest: str
    size: int
    created_at: datetime
    created_by: str
    reason: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Which roster it is a version of."""
        return (self.tier, self.owner, self.name)


async def active(database: Database, organisation: str) -> list[PushedRoster]:
    """Read the active version of every roster, without its agents."""
    query = select(*_DESCRIBED).where(_rosters.c.organisation == organisation, _rosters.c.active)
    async with database.transaction() as connection:
        rows = (await connection.execute(query.order_by(_rosters.c.tier, _rosters.c.owner, _rosters.c.name))).all()
    return [msgspec.convert(row._asdict(), PushedRoster) for row in rows]


async def agents(database: Database, organisation: str, roster: PushedRoster) -> list[dict[str, Any]]:
    """Read the agents of a version; none where it is gone."""
    query = select(_rosters.c.agents).where(*_of(organisation, *roster.key), _rosters.c.version == roster.version)
    async with database.transaction() as connection:
        found: list[dict[str, Any]] | None = (await connection.execute(query)).scalar()
    return found or []


async def active_version(connection: AsyncConnection, organisation: str, tier: str, owner: str, name: str) -> int:
    """Give the number of the active version, 0 for none."""
    query = select(_rosters.c.version).where(*_of(organisation, tier, owner, name), _rosters.c.active)
    return int((await connection.execute(query)).scalar() or 0)


async def add(
    connection: AsyncConnection,
    organisation: str,
    key: tuple[str, str, str],
    *,
    description: str,
    agents: Sequence[Mapping[str, Any]],
    digest: str,
    by: str,
    reason: str,
) -> int:
    """Store a new version as the active one; give its number. The transaction must hold the change's number."""
    query = select(func.max(_rosters.c.version)).where(*_of(organisation, *key))
    version = int((await connection.execute(query)).scalar() or 0) + 1
    await retire(connection, organisation, key)
    tier, owner, name = key
    await connection.execute(
        insert(_rosters).values(
            organisation=organisation,
            tier=tier,
            owner=storable(owner),
            name=storable(name),
            version=version,
            description=storable(description),
            agents=list(agents),
            digest=digest,
            size=len(agents),
            active=True,
            created_at=datetime.now(UTC),
            created_by=storable(by),
            reason=storable(reason),
        )
    )
    return version


async def retire(connection: AsyncConnection, organisation: str, key: tuple[str, str, str]) -> None:
    """Make no version of a roster active."""
    where = (*_of(organisation, *key), _rosters.c.active)
    await connection.execute(update(_rosters).where(*where).values(active=False))


def _of(organisation: str, tier: str, owner: str, name: str) -> tuple[Any, ...]:
    return (
        _rosters.c.organisation == organisation,
        _rosters.c.tier == tier,
        _rosters.c.owner == storable(owner),
        _rosters.c.name == storable(name),
    )
