"""The table of formerly active policy revisions with their files."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

import msgspec
from sqlalchemy import JSON, Column, Table, select, update
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into
from baton.policies.layer_versions import Revision
from baton.shared.storable import storable


class PolicyRevisionRow(SQLModel, table=True):
    """One revision: its `files` by path, and its latest activation `activated_at`."""

    __tablename__ = "policy_revisions"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    revision: str = Field(primary_key=True)
    files: dict[str, str] = Field(sa_column=Column(JSON, nullable=False))
    first_at: datetime = Field(sa_type=UTCDateTime)
    activated_at: datetime = Field(sa_type=UTCDateTime)


_revisions = PolicyRevisionRow.__table__


async def note(database: Database, organisation: str, files: Mapping[str, Mapping[str, str]], at: datetime) -> None:
    """Store that revisions are active from `at` on. Only new files are written: there is a revision per team."""
    of_ours = _revisions.c.organisation == organisation
    async with database.transaction() as connection:
        stored = update(_revisions).where(of_ours, _revisions.c.revision.in_(files)).values(activated_at=at)
        known = set((await connection.execute(stored.returning(_revisions.c.revision))).scalars())
        rows = [
            {"organisation": organisation, "revision": one, "files": dict(texts), "first_at": at, "activated_at": at}
            for one, texts in files.items()
            if one not in known
        ]
        if rows:
            insert = insert_into(database.dialect, _revisions)
            key = ["organisation", "revision"]
            await connection.execute(insert.on_conflict_do_update(index_elements=key, set_={"activated_at": at}), rows)


async def latest(database: Database, organisation: str, limit: int = 50) -> list[Revision]:
    """List the revisions, latest activation first."""
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
    """Return the files of a revision by path, or None."""
    query = select(_revisions.c.files).where(
        _revisions.c.organisation == organisation, _revisions.c.revision == storable(revision)
    )
    async with database.transaction() as connection:
        found: dict[str, str] | None = (await connection.execute(query)).scalar()
    return found
