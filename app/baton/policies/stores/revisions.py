"""The table of formerly active policy revisions with their files."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import select, update

from baton.kernel.base.sql import Database, table_of, types_of, upsert
from baton.policies.layer_versions import Revision
from baton.shared.storable import storable

REVISIONS = table_of(
    "policy_revisions", types_of(Revision) | {"files": dict[str, str]}, keys=("organisation", "revision")
)
"""The revisions, with their `files` by path."""


async def note(database: Database, organisation: str, files: Mapping[str, Mapping[str, str]], at: datetime) -> None:
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


async def latest(database: Database, organisation: str, limit: int = 50) -> list[Revision]:
    """List the revisions, latest activation first."""
    query = (
        select(*(REVISIONS.c[name] for name in Revision.__struct_fields__))
        .where(REVISIONS.c.organisation == organisation)
        .order_by(REVISIONS.c.activated_at.desc(), REVISIONS.c.revision)
        .limit(limit)
    )
    return await database.read(query, Revision)


async def files(database: Database, organisation: str, revision: str) -> dict[str, str] | None:
    """Return the files of a revision by path, or None."""
    query = select(REVISIONS.c.files).where(
        REVISIONS.c.organisation == organisation, REVISIONS.c.revision == storable(revision)
    )
    async with database.transaction() as connection:
        found: dict[str, str] | None = (await connection.execute(query)).scalar()
    return found
