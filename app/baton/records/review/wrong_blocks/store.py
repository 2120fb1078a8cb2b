"""The table of wrong blocks, and its queries."""

from datetime import datetime
from typing import Any, ClassVar, Literal

import msgspec
from sqlalchemy import Index, Select, Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into, row_of
from baton.kernel.base.storable import storable
from baton.people.row_scope import RowScope

State = Literal["open", "accepted", "declined"]


class WrongBlockRow(SQLModel, table=True):
    """One wrong block; `version` counts its changes."""

    __tablename__ = "reports"
    __table_args__ = (
        Index("ix_reports_organisation", "organisation", "id"),
        Index("ux_reports_decision", "organisation", "decision_id", "user", unique=True),
    )
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    team: str
    decision_id: str
    rule: str
    user: str
    comment: str
    at: datetime = Field(sa_type=UTCDateTime)
    state: str
    answer: str
    resolved_by: str
    resolved_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    version: int


_reports = WrongBlockRow.__table__


class WrongBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that a developer reports as wrong, and a lead's answer. `rule` is "" if no rule had matched."""

    id: str
    team: str
    decision_id: str
    rule: str
    user: str
    comment: str
    at: datetime
    state: State = "open"
    answer: str = ""
    resolved_by: str = ""
    resolved_at: datetime | None = None
    version: int = 1


async def add(database: Database, organisation: str, report: WrongBlock) -> bool:
    """Store a wrong block; return False and store nothing if this user has reported the decision before."""
    insert = insert_into(database.dialect, _reports).values(
        row_of(report, masked=("comment", "answer")) | {"organisation": organisation}
    )
    async with database.transaction() as connection:
        done = await connection.execute(
            insert.on_conflict_do_nothing(index_elements=["organisation", "decision_id", "user"])
        )
    return bool(done.rowcount == 1)


async def find(
    database: Database,
    organisation: str,
    scope: RowScope,
    *,
    rule: str = "",
    state: str = "",
    user: str = "",
    before_id: str = "",
    limit: int = 50,
) -> list[WrongBlock]:
    """Return wrong blocks, newest first; `before_id` is the id of the last one of the page before."""
    query = _visible(organisation, scope).order_by(_reports.c.id.desc()).limit(limit)
    for column, value in (("rule", rule), ("state", state), ("user", user)):
        if value:
            query = query.where(_reports.c[column] == storable(value))
    if before_id:
        query = query.where(_reports.c.id < before_id)
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), WrongBlock) for row in rows]


async def get(database: Database, organisation: str, scope: RowScope, report_id: str) -> WrongBlock | None:
    """Return one wrong block, or None if there is none in this scope."""
    query = _visible(organisation, scope).where(_reports.c.id == storable(report_id))
    async with database.transaction() as connection:
        row = (await connection.execute(query)).first()
    return None if row is None else msgspec.convert(row._asdict(), WrongBlock)


async def replace(connection: AsyncConnection, organisation: str, report: WrongBlock) -> bool:
    """Replace the previous version of a wrong block; return False if another change came first."""
    change = (
        update(_reports)
        .where(
            _reports.c.organisation == organisation,
            _reports.c.id == report.id,
            _reports.c.version == report.version - 1,
        )
        .values(row_of(report, masked=("comment", "answer")))
    )
    return (await connection.execute(change)).rowcount == 1


def _visible(organisation: str, scope: RowScope) -> Select[Any]:
    return scope.limit(select(_reports).where(_reports.c.organisation == organisation), _reports)
