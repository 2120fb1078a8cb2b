"""The tables of code maps and their queries. Every query names the user: a map is its developer's own."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlalchemy import JSON, Column, RowMapping, Table, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into
from baton.rules.call.call import Principal
from baton.shared.code_map import Outline
from baton.shared.storable import storable

BATCH = 500
"""Maximum paths in one condition of a query."""


class CodeMapRow(SQLModel, table=True):
    """A developer's code map of a project; `version` counts its changes."""

    __tablename__ = "code_maps"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    project: str = Field(primary_key=True)
    version: int
    updated_at: datetime = Field(sa_type=UTCDateTime)


class CodeMapFileRow(SQLModel, table=True):
    """The outline of one file; `symbol_count` is its number of symbols."""

    __tablename__ = "code_map_files"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    project: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    digest: str
    language: str
    symbol_count: int
    symbols: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    mentions: list[str] = Field(sa_column=Column(JSON, nullable=False))


class CodeMapSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A code map's summary."""

    project: str
    version: int
    updated_at: datetime
    files: int
    symbols: int


_maps = CodeMapRow.__table__
_files = CodeMapFileRow.__table__


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
    insert = insert_into(connection.dialect.name, _maps).values(row)
    raised = insert.on_conflict_do_update(
        index_elements=["organisation", "user", "project"], set_={"version": _maps.c.version + 1, "updated_at": now}
    )
    return int((await connection.execute(raised.returning(_maps.c.version))).scalar_one())


async def version(database: Database, principal: Principal, project: str) -> int:
    """Return a map's version, 0 if there is none. Raise DatabaseUnavailable."""
    async with database.transaction() as connection:
        found = (await connection.execute(select(_maps.c.version).where(*_of(_maps, principal, project)))).scalar()
    return int(found or 0)


async def count(connection: AsyncConnection, principal: Principal) -> int:
    """Return a developer's number of maps."""
    return int((await connection.execute(select(func.count()).where(*_mine(_maps, principal)))).scalar_one())


async def digests(connection: AsyncConnection, principal: Principal, project: str) -> dict[str, tuple[str, int]]:
    """Return the digest and the number of symbols of each file by its path."""
    query = select(_files.c.path, _files.c.digest, _files.c.symbol_count).where(*_of(_files, principal, project))
    return {row.path: (row.digest, row.symbol_count) for row in await connection.execute(query)}


async def put(connection: AsyncConnection, principal: Principal, project: str, outlines: Sequence[Outline]) -> None:
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
    insert = insert_into(connection.dialect.name, _files)
    replaced = ("digest", "language", "symbol_count", "symbols", "mentions")
    upsert = insert.on_conflict_do_update(
        index_elements=["organisation", "user", "project", "path"],
        set_={name: insert.excluded[name] for name in replaced},
    )
    await connection.execute(upsert, rows)


async def remove_files(connection: AsyncConnection, principal: Principal, project: str, paths: Collection[str]) -> None:
    """Remove the outlines of paths."""
    gone = list(paths)
    for start in range(0, len(gone), BATCH):
        where = (*_of(_files, principal, project), _files.c.path.in_(gone[start : start + BATCH]))
        await connection.execute(delete(_files).where(*where))


async def remove(connection: AsyncConnection, principal: Principal, project: str) -> bool:
    """Remove a map; return whether it existed."""
    await connection.execute(delete(_files).where(*_of(_files, principal, project)))
    return bool((await connection.execute(delete(_maps).where(*_of(_maps, principal, project)))).rowcount)


async def summaries(database: Database, principal: Principal) -> list[CodeMapSummary]:
    """Return a developer's maps, the newest first. Raise DatabaseUnavailable."""
    counted = (
        select(_files.c.project, func.count().label("files"), func.sum(_files.c.symbol_count).label("symbols"))
        .where(*_mine(_files, principal))
        .group_by(_files.c.project)
        .subquery()
    )
    query = (
        select(_maps.c.project, _maps.c.version, _maps.c.updated_at, counted.c.files, counted.c.symbols)
        .outerjoin(counted, counted.c.project == _maps.c.project)
        .where(*_mine(_maps, principal))
        .order_by(_maps.c.updated_at.desc(), _maps.c.project)
    )
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [
        CodeMapSummary(
            project=row.project,
            version=row.version,
            updated_at=row.updated_at,
            files=row.files or 0,
            symbols=row.symbols or 0,
        )
        for row in rows
    ]


async def outlines(database: Database, principal: Principal, project: str) -> Sequence[RowMapping]:
    """Read a map's undecoded rows, by path. Raise DatabaseUnavailable."""
    query = (
        select(_files.c.path, _files.c.language, _files.c.symbols, _files.c.mentions)
        .where(*_of(_files, principal, project))
        .order_by(_files.c.path)
    )
    async with database.transaction() as connection:
        return (await connection.execute(query)).mappings().all()
