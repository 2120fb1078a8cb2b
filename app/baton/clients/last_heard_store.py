"""The table of clients and when each was last heard of."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

import msgspec
from sqlalchemy import Table, select
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into, row_of
from baton.kernel.base.storable import storable


class ClientRow(SQLModel, table=True):
    """One user's one client."""

    __tablename__ = "clients_seen"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    client: str = Field(primary_key=True)
    protocol: str
    last_seen: datetime = Field(sa_type=UTCDateTime)


_seen = ClientRow.__table__


class LastContact(msgspec.Struct, frozen=True, kw_only=True):
    """When a user's client was last heard of, and the protocol version of its hook ("" if it sent none)."""

    user: str
    client: str
    last_seen: datetime
    protocol: str = ""


async def note(database: Database, organisation: str, seen: Sequence[LastContact]) -> None:
    """Store when clients were last heard of; an older moment never replaces a newer one."""
    insert = insert_into(database.dialect, _seen)
    upsert = insert.on_conflict_do_update(
        index_elements=["organisation", "user", "client"],
        set_={"last_seen": insert.excluded.last_seen, "protocol": insert.excluded.protocol},
        where=_seen.c.last_seen < insert.excluded.last_seen,
    )
    rows = [row_of(one) | {"organisation": organisation} for one in seen]
    if rows:
        async with database.transaction() as connection:
            await connection.execute(upsert, rows)


async def load(database: Database, organisation: str, user: str = "") -> list[LastContact]:
    """List clients, the last heard of first; with `user`, only theirs."""
    columns = (_seen.c.user, _seen.c.client, _seen.c.last_seen, _seen.c.protocol)
    query = select(*columns).where(_seen.c.organisation == organisation).order_by(_seen.c.last_seen.desc())
    if user:
        query = query.where(_seen.c.user == storable(user))
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), LastContact) for row in rows]
