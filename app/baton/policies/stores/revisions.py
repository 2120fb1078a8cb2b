"""The table of policy revisions that were active, with their texts."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

import msgspec
from sqlalchemy import JSON, Column, Table, select
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into
from baton.kernel.base.storable import storable


class PolicyRevisionRow(SQLModel, table=True):
    """One revision; `files` are its texts by path, `activated_at` is when it last became active."""

    __tablename__ = "policy_revisions"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    revision: str = Field(primary_key=True)
    files: dict[str, str] = Field(sa_column=Column(JSON, nullable=False))
    first_at: datetime = Field(sa_type=UTCDateTime)
    activated_at: datetime = Field(sa_type=UTCDateTime)


_revisions = PolicyRevisionRow.__table__


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """A revision as it was first seen and last activated."""

    revision: str
    first_at: datetime
    activated_at: datetime


async def note(database: Database, organisation: str, revision: str, files: Mapping[str, str], at: datetime) -> None:
    """Note that a revision is active from `at` on."""
    row = {
        "organisation": organisation,
        "revision": revision,
        "files": dict(files),
        "first_at": at,
        "activated_at": at,
    }
    insert = insert_into(database.dialect, _revisions).values(row)
    async with database.transaction() as connection:
        await connection.execute(
            insert.on_conflict_do_update(index_elements=["organisation", "revision"], set_={"activated_at": at})
        )


async def latest(database: Database, organisation: str, limit: int = 50) -> list[Revision]:
    """List the revisions, the one that last became active first."""
    columns = (_revisions.c.revision, _revisions.c.first_at, _revisions.c.activated_at)
    query = (
        select(*columns)
        .where(_revisions.c.organisation == organisation)
        .order_by(_revisions.c.activated_at.desc(), _revisions.c.revision)
        .limit(limit)
    )
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), Revision) for row in rows]


async def files(database: Database, organisation: str, revision: str) -> dict[str, str] | None:
    """Return the texts of a revision by path."""
    query = select(_revisions.c.files).where(
        _revisions.c.organisation == organisation, _revisions.c.revision == storable(revision)
    )
    async with database.transaction() as connection:
        found: dict[str, str] | None = (await connection.execute(query)).scalar()
    return found
