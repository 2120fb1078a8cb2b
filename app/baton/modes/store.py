"""The table of mode settings, and its queries."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import Index, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import LARGEST_BATCH, Database, row_of, table_of, upsert
from baton.rules.call.modes import ModeSetting
from baton.shared.storable import storable

Key = tuple[str, str, str]


MODES = table_of("mode_settings", ModeSetting, Index("ix_mode_settings_organisation", "organisation"), keys=("key",))
"""One row per setting; `key` is a digest of its own key."""


async def load_all(database: Database, organisation: str, now: datetime) -> list[ModeSetting]:
    """Read an organisation's unexpired settings."""
    async with database.transaction() as connection:
        return await load_with(connection, organisation, now)


async def load_with(connection: AsyncConnection, organisation: str, now: datetime) -> list[ModeSetting]:
    """Read an organisation's unexpired settings within a transaction."""
    counts = MODES.c.expires_at.is_(None) | (MODES.c.expires_at > now)
    query = select(MODES).where(MODES.c.organisation == organisation, counts).order_by(MODES.c.key)
    rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), ModeSetting) for row in rows]


async def load_keys(connection: AsyncConnection, organisation: str, keys: Sequence[Key]) -> list[ModeSetting]:
    """Read the settings of these keys, as far as they are there."""
    digests = [_digest(organisation, key) for key in keys]
    found: list[ModeSetting] = []
    for start in range(0, len(digests), LARGEST_BATCH):
        query = select(MODES).where(MODES.c.key.in_(digests[start : start + LARGEST_BATCH]))
        found += [msgspec.convert(row._asdict(), ModeSetting) for row in await connection.execute(query)]
    return found


async def change(
    connection: AsyncConnection, organisation: str, *, put: Iterable[ModeSetting] = (), remove: Iterable[Key] = ()
) -> None:
    """Remove settings by key, then insert or replace others. Removing an absent one is no error."""
    rows = [_row(organisation, setting) for setting in put]
    gone = [_digest(organisation, key) for key in remove]
    if gone:
        await connection.execute(delete(MODES).where(MODES.c.key.in_(gone)))
    if rows:
        await upsert(connection, MODES, rows)


def _row(organisation: str, setting: ModeSetting) -> dict[str, Any]:
    return row_of(setting, masked=("reason",)) | {
        "key": _digest(organisation, setting.key),
        "organisation": organisation,
    }


def _digest(organisation: str, key: Key) -> str:
    """Return a key of fixed length. A Postgres index takes at most 2.7 KB, and a project may be longer."""
    text = "".join(f"{len(part)}:{part}" for part in (organisation, *key))
    return sha256(storable(text).encode()).hexdigest()
