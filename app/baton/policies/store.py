"""The tables of policy layers, of active revisions with their files, and of unlocks."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Index, delete, func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, row_of, table_of, types_of, upsert
from baton.lib.text.masking import mask
from baton.policies.layer_versions import LayerVersion, Revision, StoredLayer, StoredUnlock
from baton.shared.storable import storable

# All versions of uploaded layers.

LAYERS = table_of("policy_layers", StoredLayer, keys=("organisation", "tier", "name", "version"))
"""The versions of layers. `name` is "-" for the organisation; at most one version per layer is active."""


_DESCRIBED = tuple(LAYERS.c[name] for name in LayerVersion.__struct_fields__)


async def active_layers(database: Database, organisation: str) -> list[StoredLayer]:
    """Return the active version of every layer."""
    query = (
        select(*_DESCRIBED, LAYERS.c.files)
        .where(LAYERS.c.organisation == organisation, LAYERS.c.state == "active")
        .order_by(LAYERS.c.tier, LAYERS.c.name)
    )
    return await database.read(query, StoredLayer)


async def active_layers_of(
    database: Database, organisation: str, places: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], StoredLayer]:
    """Return the active versions of some layers, by tier and name."""
    query = select(*_DESCRIBED, LAYERS.c.files).where(
        LAYERS.c.organisation == organisation,
        tuple_(LAYERS.c.tier, LAYERS.c.name).in_([(tier, storable(name)) for tier, name in places]),
        LAYERS.c.state == "active",
    )
    return {(row.tier, row.name): msgspec.convert(row._asdict(), StoredLayer) for row in await database.rows(query)}


async def get_layer(
    database: Database, organisation: str, tier: str, name: str, version: int = 0
) -> StoredLayer | None:
    """Return one version, the active one for 0, or None."""
    query = select(*_DESCRIBED, LAYERS.c.files).where(*_of_layer(organisation, tier, name))
    query = query.where(LAYERS.c.version == version if version else LAYERS.c.state == "active")
    return next(iter(await database.read(query, StoredLayer)), None)


async def versions_of_layer(
    database: Database, organisation: str, tier: str, name: str, *, below: int = 0, limit: int = 50
) -> list[LayerVersion]:
    """List versions, newest first, below the previous page's last one."""
    query = (
        select(*_DESCRIBED).where(*_of_layer(organisation, tier, name)).order_by(LAYERS.c.version.desc()).limit(limit)
    )
    if below:
        query = query.where(LAYERS.c.version < below)
    return await database.read(query, LayerVersion)


async def active_version(connection: AsyncConnection, organisation: str, tier: str, name: str) -> int:
    """Return the number of the active version, or 0."""
    query = select(LAYERS.c.version).where(*_of_layer(organisation, tier, name), LAYERS.c.state == "active")
    return int((await connection.execute(query)).scalar() or 0)


async def version_before(database: Database, organisation: str, tier: str, name: str) -> int:
    """Return the newest version below the active one with an activation, or 0."""
    async with database.transaction() as connection:
        now = await active_version(connection, organisation, tier, name)
        query = select(func.max(LAYERS.c.version)).where(
            *_of_layer(organisation, tier, name), LAYERS.c.activated_at.is_not(None)
        )
        if now:
            query = query.where(LAYERS.c.version < now)
        return int((await connection.execute(query)).scalar() or 0)


async def add_layer(
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
    query = select(func.max(LAYERS.c.version)).where(*_of_layer(organisation, tier, name))
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


async def retire_layer(connection: AsyncConnection, organisation: str, tier: str, name: str) -> None:
    """Deactivate a layer."""
    where = (*_of_layer(organisation, tier, name), LAYERS.c.state == "active")
    await connection.execute(update(LAYERS).where(*where).values(state="retired"))


async def activate_layer(connection: AsyncConnection, organisation: str, tier: str, name: str, version: int) -> None:
    """Activate a version of a layer."""
    await retire_layer(connection, organisation, tier, name)
    where = (*_of_layer(organisation, tier, name), LAYERS.c.version == version)
    await connection.execute(update(LAYERS).where(*where).values(state="active", activated_at=datetime.now(UTC)))


def _of_layer(organisation: str, tier: str, name: str) -> tuple[Any, ...]:
    return LAYERS.c.organisation == organisation, LAYERS.c.tier == tier, LAYERS.c.name == storable(name)


# Formerly active revisions with their files.

REVISIONS = table_of(
    "policy_revisions", types_of(Revision) | {"files": dict[str, str]}, keys=("organisation", "revision")
)
"""The revisions, with their `files` by path."""


async def note_revisions(
    database: Database, organisation: str, files: Mapping[str, Mapping[str, str]], at: datetime
) -> None:
    """Store that revisions are active from `at` on. Only new files are written: there is a revision per team."""
    of_ours = REVISIONS.c.organisation == organisation
    async with database.transaction() as connection:
        stored = update(REVISIONS).where(of_ours, REVISIONS.c.revision.in_(files)).values(activated_at=at)
        known = set((await connection.execute(stored.returning(REVISIONS.c.revision))).scalars())
        rows = [
            {"organisation": organisation, "revision": one, "files": dict(texts), "first_at": at, "activated_at": at}
            for one, texts in files.items()
            if one not in known
        ]
        if rows:
            await upsert(connection, REVISIONS, rows, "activated_at")


async def latest_revisions(database: Database, organisation: str, limit: int = 50) -> list[Revision]:
    """List the revisions, latest activation first."""
    query = (
        select(*(REVISIONS.c[name] for name in Revision.__struct_fields__))
        .where(REVISIONS.c.organisation == organisation)
        .order_by(REVISIONS.c.activated_at.desc(), REVISIONS.c.revision)
        .limit(limit)
    )
    return await database.read(query, Revision)


async def revision_files(database: Database, organisation: str, revision: str) -> dict[str, str] | None:
    """Return the files of a revision by path, or None."""
    query = select(REVISIONS.c.files).where(
        REVISIONS.c.organisation == organisation, REVISIONS.c.revision == storable(revision)
    )
    async with database.transaction() as connection:
        found: dict[str, str] | None = (await connection.execute(query)).scalar()
    return found


# Locked rules freed temporarily by an admin.

UNLOCKS = table_of("policy_unlocks", StoredUnlock, Index("ix_policy_unlocks_organisation", "organisation", "until"))


async def load_unlocks(database: Database, organisation: str, now: datetime) -> list[StoredUnlock]:
    """Load the current unlocks, oldest first."""
    query = (
        select(*(column for column in UNLOCKS.c if column.name != "organisation"))
        .where(UNLOCKS.c.organisation == organisation, UNLOCKS.c.until > now)
        .order_by(UNLOCKS.c.id)
    )
    return await database.read(query, StoredUnlock)


async def add_unlock(connection: AsyncConnection, organisation: str, unlock: StoredUnlock) -> None:
    """Store an unlock."""
    await connection.execute(
        insert(UNLOCKS).values(row_of(unlock, masked=("reason",)) | {"organisation": organisation})
    )


async def remove_unlock(connection: AsyncConnection, organisation: str, unlock_id: str) -> bool:
    """Delete an unlock. Return False if it did not exist."""
    gone = delete(UNLOCKS).where(UNLOCKS.c.organisation == organisation, UNLOCKS.c.id == unlock_id)
    return (await connection.execute(gone)).rowcount == 1
