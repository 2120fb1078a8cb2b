"""The table of all versions of uploaded policy layers."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, table_of
from baton.lib.text.masking import mask
from baton.policies.layer_versions import LayerVersion, StoredLayer
from baton.shared.storable import storable

LAYERS = table_of("policy_layers", StoredLayer, keys=("organisation", "tier", "name", "version"))
"""The versions of layers. `name` is "-" for the organisation; at most one version per layer is active."""


_DESCRIBED = tuple(LAYERS.c[name] for name in LayerVersion.__struct_fields__)


async def active(database: Database, organisation: str) -> list[StoredLayer]:
    """Return the active version of every layer."""
    query = (
        select(*_DESCRIBED, LAYERS.c.files)
        .where(LAYERS.c.organisation == organisation, LAYERS.c.state == "active")
        .order_by(LAYERS.c.tier, LAYERS.c.name)
    )
    return await database.read(query, StoredLayer)


async def active_of(
    database: Database, organisation: str, places: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], StoredLayer]:
    """Return the active versions of some layers, by tier and name."""
    query = select(*_DESCRIBED, LAYERS.c.files).where(
        LAYERS.c.organisation == organisation,
        tuple_(LAYERS.c.tier, LAYERS.c.name).in_([(tier, storable(name)) for tier, name in places]),
        LAYERS.c.state == "active",
    )
    return {(row.tier, row.name): msgspec.convert(row._asdict(), StoredLayer) for row in await database.rows(query)}


async def get(database: Database, organisation: str, tier: str, name: str, version: int = 0) -> StoredLayer | None:
    """Return one version, the active one for 0, or None."""
    query = select(*_DESCRIBED, LAYERS.c.files).where(*_of(organisation, tier, name))
    query = query.where(LAYERS.c.version == version if version else LAYERS.c.state == "active")
    return next(iter(await database.read(query, StoredLayer)), None)


async def versions(
    database: Database, organisation: str, tier: str, name: str, *, below: int = 0, limit: int = 50
) -> list[LayerVersion]:
    """List versions, newest first, below the previous page's last one."""
    query = select(*_DESCRIBED).where(*_of(organisation, tier, name)).order_by(LAYERS.c.version.desc()).limit(limit)
    if below:
        query = query.where(LAYERS.c.version < below)
    return await database.read(query, LayerVersion)


async def active_version(connection: AsyncConnection, organisation: str, tier: str, name: str) -> int:
    """Return the number of the active version, or 0."""
    query = select(LAYERS.c.version).where(*_of(organisation, tier, name), LAYERS.c.state == "active")
    return int((await connection.execute(query)).scalar() or 0)


async def version_before(database: Database, organisation: str, tier: str, name: str) -> int:
    """Return the newest version below the active one with an activation, or 0."""
    async with database.transaction() as connection:
        now = await active_version(connection, organisation, tier, name)
        query = select(func.max(LAYERS.c.version)).where(
            *_of(organisation, tier, name), LAYERS.c.activated_at.is_not(None)
        )
        if now:
            query = query.where(LAYERS.c.version < now)
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
    query = select(func.max(LAYERS.c.version)).where(*_of(organisation, tier, name))
    version = int((await connection.execute(query)).scalar() or 0) + 1
    await connection.execute(
        insert(LAYERS).values(
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
    where = (*_of(organisation, tier, name), LAYERS.c.state == "active")
    await connection.execute(update(LAYERS).where(*where).values(state="retired"))


async def activate(connection: AsyncConnection, organisation: str, tier: str, name: str, version: int) -> None:
    """Activate a version of a layer."""
    await retire(connection, organisation, tier, name)
    where = (*_of(organisation, tier, name), LAYERS.c.version == version)
    await connection.execute(update(LAYERS).where(*where).values(state="active", activated_at=datetime.now(UTC)))


def _of(organisation: str, tier: str, name: str) -> tuple[Any, ...]:
    return LAYERS.c.organisation == organisation, LAYERS.c.tier == tier, LAYERS.c.name == storable(name)
