"""The tables of code maps and their queries. Every query names the user: a map is its developer's own."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import RowMapping, Table, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, insert_into, table_of, upsert
from baton.rules.call.call import Principal
from baton.shared.code_map import Outline
from baton.shared.storable import storable

BATCH = 500
"""Maximum paths in one condition of a query."""
MAPS = table_of("code_maps", {"version": int, "updated_at": datetime}, keys=("organisation", "user", "project"))
"""Code maps, each a developer's of a project; `version` counts the changes of one."""
FILES = table_of(
    "code_map_files",
    {"digest": str, "language": str, "symbol_count": int, "symbols": list[Any], "mentions": list[str]},
    keys=("organisation", "user", "project", "path"),
)
"""The outlines of files; `symbol_count` is the number of symbols of one."""


class CodeMapSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A code map's summary."""

    project: str
    version: int
    updated_at: datetime
    files: int
    symbols: int


def _of(table: Table, principal: Principal, project: str) -> tuple[Any, ...]:
    return (*_mine(table, principal), table.c.project == storable(project))


def _mine(table: Table, principal: Principal) -> tuple[Any, ...]:
    return table.c.organisation == principal.organisation, table.c.user == storable(principal.user)


async def touch(connection: AsyncConnection, principal: Principal, project: str, now: datetime) -> int:
    """Increment a map's version, creating the map if needed, and return it. The row stays locked."""
    row = {
        "organisation": principal.organisation,
        "user": storable(principal.user),
        "project": storable(project),
        "version": 1,
        "updated_at": now,
    }
    insert = insert_into(connection.dialect.name, MAPS).values(row)
    raised = insert.on_conflict_do_update(
        index_elements=["organisation", "user", "project"], set_={"version": MAPS.c.version + 1, "updated_at": now}
    )
    return int((await connection.execute(raised.returning(MAPS.c.version))).scalar_one())


async def version(database: Database, principal: Principal, project: str) -> int:
    """Return a map's version, 0 if there is none. Raise DatabaseUnavailable."""
    async with database.transaction() as connection:
        found = (await connection.execute(select(MAPS.c.version).where(*_of(MAPS, principal, project)))).scalar()
    return int(found or 0)


async def count(connection: AsyncConnection, principal: Principal) -> int:
    """Return a developer's number of maps."""
    return int((await connection.execute(select(func.count()).where(*_mine(MAPS, principal)))).scalar_one())


async def digests(connection: AsyncConnection, principal: Principal, project: str) -> dict[str, tuple[str, int]]:
    """Return the digest and the number of symbols of each file by its path."""
    query = select(FILES.c.path, FILES.c.digest, FILES.c.symbol_count).where(*_of(FILES, principal, project))
    return {row.path: (row.digest, row.symbol_count) for row in await connection.execute(query)}


async def put_outlines(
    connection: AsyncConnection, principal: Principal, project: str, outlines: Sequence[Outline]
) -> None:
    """Store outlines, replacing those of the same paths."""
    rows = [
        {
            "organisation": principal.organisation,
            "user": storable(principal.user),
            "project": storable(project),
            "path": one.path,
            "digest": one.digest,
            "language": one.language,
            "symbol_count": len(one.symbols),
            "symbols": msgspec.to_builtins(one.symbols),
            "mentions": list(one.mentions),
        }
        for one in outlines
    ]
    await upsert(connection, FILES, rows)


async def remove_files(connection: AsyncConnection, principal: Principal, project: str, paths: Collection[str]) -> None:
    """Remove the outlines of paths."""
    gone = list(paths)
    for start in range(0, len(gone), BATCH):
        where = (*_of(FILES, principal, project), FILES.c.path.in_(gone[start : start + BATCH]))
        await connection.execute(delete(FILES).where(*where))


async def remove(connection: AsyncConnection, principal: Principal, project: str) -> bool:
    """Remove a map; return whether it existed."""
    await connection.execute(delete(FILES).where(*_of(FILES, principal, project)))
    return bool((await connection.execute(delete(MAPS).where(*_of(MAPS, principal, project)))).rowcount)


async def summaries(database: Database, principal: Principal) -> list[CodeMapSummary]:
    """Return a developer's maps, the newest first. Raise DatabaseUnavailable."""
    counted = (
        select(FILES.c.project, func.count().label("files"), func.sum(FILES.c.symbol_count).label("symbols"))
        .where(*_mine(FILES, principal))
        .group_by(FILES.c.project)
        .subquery()
    )
    query = (
        select(
            *(MAPS.c.project, MAPS.c.version, MAPS.c.updated_at),
            *(func.coalesce(counted.c[name], 0).label(name) for name in ("files", "symbols")),
        )
        .outerjoin(counted, counted.c.project == MAPS.c.project)
        .where(*_mine(MAPS, principal))
        .order_by(MAPS.c.updated_at.desc(), MAPS.c.project)
    )
    return await database.read(query, CodeMapSummary)


async def outlines(database: Database, principal: Principal, project: str) -> Sequence[RowMapping]:
    """Read a map's undecoded rows, by path. Raise DatabaseUnavailable."""
    query = (
        select(FILES.c.path, FILES.c.language, FILES.c.symbols, FILES.c.mentions)
        .where(*_of(FILES, principal, project))
        .order_by(FILES.c.path)
    )
    async with database.transaction() as connection:
        return (await connection.execute(query)).mappings().all()
