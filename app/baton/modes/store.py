"""The table of mode settings, and its queries."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, ClassVar

import msgspec
from sqlalchemy import Table, delete, false, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import LARGEST_BATCH, Database, UTCDateTime, insert_into, row_of
from baton.kernel.base.storable import storable
from baton.rules.call.modes import ModeSetting

Key = tuple[str, str, str]


class ModeSettingRow(SQLModel, table=True):
    """One setting at one scope, as `rules.call.modes.ModeSetting` describes it; `key` is a digest of its own key."""

    __tablename__ = "mode_settings"
    __table__: ClassVar[Table]

    key: str = Field(primary_key=True)
    organisation: str = Field(index=True)
    scope: str
    id: str
    user: str
    project: str
    enabled: bool
    level: str
    locked: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    reason: str
    expires_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    activated_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    auto_activated: bool
    delegated: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    set_by: str
    set_at: datetime | None = Field(default=None, sa_type=UTCDateTime)


_modes = ModeSettingRow.__table__


async def load_all(database: Database, organisation: str, now: datetime) -> list[ModeSetting]:
    """Read an organisation's unexpired settings."""
    async with database.transaction() as connection:
        return await load_with(connection, organisation, now)


async def load_with(connection: AsyncConnection, organisation: str, now: datetime) -> list[ModeSetting]:
    """Read an organisation's unexpired settings within a transaction."""
    counts = _modes.c.expires_at.is_(None) | (_modes.c.expires_at > now)
    query = select(_modes).where(_modes.c.organisation == organisation, counts).order_by(_modes.c.key)
    rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), ModeSetting) for row in rows]


async def load_keys(connection: AsyncConnection, organisation: str, keys: Sequence[Key]) -> list[ModeSetting]:
    """Read the settings of these keys, as far as they are there."""
    digests = [_digest(organisation, key) for key in keys]
    found: list[ModeSetting] = []
    for start in range(0, len(digests), LARGEST_BATCH):
        query = select(_modes).where(_modes.c.key.in_(digests[start : start + LARGEST_BATCH]))
        found += [msgspec.convert(row._asdict(), ModeSetting) for row in await connection.execute(query)]
    return found


async def change(
    connection: AsyncConnection, organisation: str, *, put: Iterable[ModeSetting] = (), remove: Iterable[Key] = ()
) -> None:
    """Remove settings by key, then insert or replace others. Removing an absent one is no error."""
    rows = [_row(organisation, setting) for setting in put]
    gone = [_digest(organisation, key) for key in remove]
    if gone:
        await connection.execute(delete(_modes).where(_modes.c.key.in_(gone)))
    for row in rows:
        insert = insert_into(connection.dialect.name, _modes).values(row)
        await connection.execute(insert.on_conflict_do_update(index_elements=["key"], set_=row))


def _row(organisation: str, setting: ModeSetting) -> dict[str, Any]:
    return row_of(setting, masked=("reason",)) | {
        "key": _digest(organisation, setting.key),
        "organisation": organisation,
    }


def _digest(organisation: str, key: Key) -> str:
    """Return a key of fixed length. A Postgres index takes at most 2.7 KB, and a project may be longer."""
    text = "".join(f"{len(part)}:{part}" for part in (organisation, *key))
    return sha256(storable(text).encode()).hexdigest()
