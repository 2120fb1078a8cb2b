"""The table of the hooks that people have installed, by user and client."""

from datetime import datetime
from typing import ClassVar

import msgspec
from sqlalchemy import Table, delete, select
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into, row_of
from baton.kernel.base.storable import storable


class InstalledHooksRow(SQLModel, table=True):
    """One user's hooks in one client."""

    __tablename__ = "hooks_installed"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    client: str = Field(primary_key=True)
    installed_at: datetime = Field(sa_type=UTCDateTime)


_installed = InstalledHooksRow.__table__


class HooksInstalled(msgspec.Struct, frozen=True, kw_only=True):
    """When a user last installed the hooks of a client."""

    user: str
    client: str
    installed_at: datetime


async def put(database: Database, organisation: str, one: HooksInstalled) -> None:
    """Store that hooks were installed, in place of what was stored of this user and client."""
    insert = insert_into(database.dialect, _installed)
    upsert = insert.on_conflict_do_update(
        index_elements=["organisation", "user", "client"], set_={"installed_at": insert.excluded.installed_at}
    )
    async with database.transaction() as connection:
        await connection.execute(upsert, row_of(one) | {"organisation": organisation})


async def remove(database: Database, organisation: str, user: str, client: str) -> None:
    """Forget a user's hooks in a client; nothing happens if none are known."""
    theirs = (_installed.c.user == storable(user)) & (_installed.c.client == client)
    async with database.transaction() as connection:
        await connection.execute(delete(_installed).where(_installed.c.organisation == organisation, theirs))


async def load(database: Database, organisation: str) -> list[HooksInstalled]:
    """List the hooks that are installed, the last installed first."""
    columns = (_installed.c.user, _installed.c.client, _installed.c.installed_at)
    query = select(*columns).where(_installed.c.organisation == organisation).order_by(_installed.c.installed_at.desc())
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), HooksInstalled) for row in rows]
