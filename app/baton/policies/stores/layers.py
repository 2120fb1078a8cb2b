"""The table of all versions of uploaded policy layers."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec
from sqlalchemy import JSON, Column, Table, func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime
from baton.lib.text.masking import mask
from baton.policies.layer_versions import LayerVersion, StoredLayer
from baton.shared.storable import storable


class PolicyLayerRow(SQLModel, table=True):
    """One version of a layer. `name` is "-" for the organisation; at most one version per layer is active."""

    __tablename__ = "policy_layers"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    tier: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    files: dict[str, str] = Field(sa_column=Column(JSON, nullable=False))
    state: str
    created_at: datetime = Field(sa_type=UTCDateTime)
    created_by: str
    activated_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    reason: str


_layers = PolicyLayerRow.__table__
_DESCRIBED = tuple(column for column in _layers.c if column.name not in {"organisation", "files"})


async def active(database: Database, organisation: str) -> list[StoredLayer]:
    """Return the active version of every layer."""
    query = (
        select(*_DESCRIBED, _layers.c.files)
        .where(_layers.c.organisation == organisation, _layers.c.state == "active")
        .order_by(_layers.c.tier, _layers.c.name)
    )
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [_stored(row) for row in rows]


async def active_of(
    database: Database, organisation: str, places: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], StoredLayer]:
    """Return the active versions of some layers, by tier and name."""
    query = select(*_DESCRIBED, _layers.c.files).where(
        _layers.c.organisation == organisation,
        tuple_(_layers.c.tier, _layers.c.name).in_([(tier, storable(name)) for tier, name in places]),
        _layers.c.state == "active",
    )
    async with database.transaction() as connection:
        return {(row.tier, row.name): _stored(row) for row in await connection.execute(query)}


async def get(database: Database, organisation: str, tier: str, name: str, version: int = 0) -> StoredLayer | None:
    """Return one version, the active one for 0, or None."""
    query = select(*_DESCRIBED, _layers.c.files).where(*_of(organisation, tier, name))
    query = query.where(_layers.c.version == version if version else _layers.c.state == "active")
    async with database.transaction() as connection:
        row = (await connection.execute(query)).first()
    return None if row is None else _stored(row)


async def versions(
    database: Database, organisation: str, tier: str, name: str, *, below: int = 0, limit: int = 50
) -> list[LayerVersion]:
    """List versions, newest first, below the previous page's last one."""
    query = select(*_DESCRIBED).where(*_of(organisation, tier, name)).order_by(_layers.c.version.desc()).limit(limit)
    if below:
        query = query.where(_layers.c.version < below)
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), LayerVersion) for row in rows]


async def active_version(connection: AsyncConnection, organisation: str, tier: str, name: str) -> int:
    """Return the number of the active version, or 0."""
    query = select(_layers.c.version).where(*_of(organisation, tier, name), _layers.c.state == "active")
    return int((await connection.execute(query)).scalar() or 0)


async def version_before(database: Database, organisation: str, tier: str, name: str) -> int:
    """Return the newest version below the active one with an activation, or 0."""
    async with database.transaction() as connection:
        now = await active_version(connection, organisation, tier, name)
        query = select(func.max(_layers.c.version)).where(
            *_of(organisation, tier, name), _layers.c.activated_at.is_not(None)
        )
        if now:
            query = query.where(_layers.c.version < now)
        return int((await connection.execute(query)).scalar() or 0)


async def add(
    connection: AsyncConnection,
    organisation: str,
    tier: str,
    name: str,
    files: Mapping[str, str],
    *,
    by: str,
    reason: str,
) -> int:
    """Store a new draft version and return its number. The transaction must hold the change's number."""
    query = select(func.max(_layers.c.version)).where(*_of(organisation, tier, name))
    version = int((await connection.execute(query)).scalar() or 0) + 1
    await connection.execute(
        insert(_layers).values(
            organisation=organisation,
            tier=tier,
            name=storable(name),
            version=version,
            files={storable(path): storable(text) for path, text in files.items()},
            state="draft",
            created_at=datetime.now(UTC),
            created_by=storable(by),
            activated_at=None,
            reason=mask(storable(reason)),
        )
    )
    return version


async def retire(connection: AsyncConnection, organisation: str, tier: str, name: str) -> None:
    """Deactivate a layer."""
    where = (*_of(organisation, tier, name), _layers.c.state == "active")
    await connection.execute(update(_layers).where(*where).values(state="retired"))


async def activate(connection: AsyncConnection, organisation: str, tier: str, name: str, version: int) -> None:
    """Activate a version of a layer."""
    await retire(connection, organisation, tier, name)
    where = (*_of(organisation, tier, name), _layers.c.version == version)
    await connection.execute(update(_layers).where(*where).values(state="active", activated_at=datetime.now(UTC)))


def _of(organisation: str, tier: str, name: str) -> tuple[Any, ...]:
    return _layers.c.organisation == organisation, _layers.c.tier == tier, _layers.c.name == storable(name)


def _stored(row: Any) -> StoredLayer:
    return msgspec.convert(row._asdict(), StoredLayer)
