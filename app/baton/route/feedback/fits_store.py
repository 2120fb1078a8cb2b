"""The table of fitted weights, every version of each team's, and its queries."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec
from sqlalchemy import JSON, Column, Table, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime
from baton.kernel.base.storable import storable
from baton.route.feedback.feedback import Fit


class RoutingFitRow(SQLModel, table=True):
    """One fit of a team's weights; at most one is active, none means the defaults."""

    __tablename__ = "routing_fits"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    team: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    weights: dict[str, float] = Field(sa_column=Column(JSON, nullable=False))
    report: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    active: bool
    created_at: datetime = Field(sa_type=UTCDateTime)
    created_by: str


_fits = RoutingFitRow.__table__
_SHOWN = tuple(column for column in _fits.c if column.name != "organisation")


async def active(database: Database, organisation: str) -> list[Fit]:
    """Read every team's active fit. Raise DatabaseUnavailable."""
    return await _read(database, _fits.c.organisation == organisation, _fits.c.active)


async def of_team(database: Database, organisation: str, team: str, limit: int = 50) -> list[Fit]:
    """Read a team's fits, the newest first. Raise DatabaseUnavailable."""
    return await _read(database, _fits.c.organisation == organisation, _fits.c.team == storable(team), limit=limit)


async def add(
    connection: AsyncConnection,
    organisation: str,
    team: str,
    *,
    weights: Mapping[str, float],
    report: Mapping[str, Any],
    by: str,
) -> int:
    """Store a fit that is not active yet, and return its version. The transaction must hold the change's number."""
    where = (_fits.c.organisation == organisation, _fits.c.team == storable(team))
    version = int((await connection.execute(select(func.max(_fits.c.version)).where(*where))).scalar() or 0) + 1
    await connection.execute(
        insert(_fits).values(
            organisation=organisation,
            team=storable(team),
            version=version,
            weights=dict(weights),
            report=dict(report),
            active=False,
            created_at=datetime.now(UTC),
            created_by=storable(by),
        )
    )
    return version


async def activate(connection: AsyncConnection, organisation: str, team: str, version: int) -> tuple[int, bool]:
    """Make a version the active one, none for 0. Return the version that was active, and whether the new one exists."""
    where = (_fits.c.organisation == organisation, _fits.c.team == storable(team))
    before = int((await connection.execute(select(_fits.c.version).where(*where, _fits.c.active))).scalar() or 0)
    await connection.execute(update(_fits).where(*where).values(active=False))
    if not version:
        return before, True
    done = await connection.execute(update(_fits).where(*where, _fits.c.version == version).values(active=True))
    return before, done.rowcount == 1


async def _read(database: Database, *where: Any, limit: int = 10_000) -> list[Fit]:
    query = select(*_SHOWN).where(*where).order_by(_fits.c.team, _fits.c.version.desc()).limit(limit)
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), Fit) for row in rows]
