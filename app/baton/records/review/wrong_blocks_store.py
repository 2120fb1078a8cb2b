"""The table of blocks that developers call wrong, and its queries. It does not say who may see which."""

from datetime import datetime
from typing import Any, ClassVar, Literal

import msgspec
from sqlalchemy import Index, Select, Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import Database, UTCDateTime, insert_into, row_of, storable
from baton.people.row_scope import RowScope

State = Literal["open", "accepted", "declined"]


class ReportRow(SQLModel, table=True):
    """One report; `version` counts its changes."""

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


_reports = ReportRow.__table__


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A developer's word that a decision was wrong, and what a lead answered. `rule` is "" where none had matched."""

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


async def add(database: Database, organisation: str, report: Report) -> bool:
    """Store a report; False, and nothing stored, if this user has reported the decision before."""
    insert = insert_into(database.dialect, _reports).values(row_of(report) | {"organisation": organisation})
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
) -> list[Report]:
    """Find reports, newest first; `before_id` continues after the last one of the page before."""
    query = _visible(organisation, scope).order_by(_reports.c.id.desc()).limit(limit)
    for column, value in (("rule", rule), ("state", state), ("user", user)):
        if value:
            query = query.where(_reports.c[column] == storable(value))
    if before_id:
        query = query.where(_reports.c.id < before_id)
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), Report) for row in rows]


async def get(database: Database, organisation: str, scope: RowScope, report_id: str) -> Report | None:
    """Find one report."""
    query = _visible(organisation, scope).where(_reports.c.id == storable(report_id))
    async with database.transaction() as connection:
        row = (await connection.execute(query)).first()
    return None if row is None else msgspec.convert(row._asdict(), Report)


async def replace(connection: AsyncConnection, organisation: str, report: Report) -> bool:
    """Put a report in the place of its version before; False if another change came first."""
    change = (
        update(_reports)
        .where(
            _reports.c.organisation == organisation,
            _reports.c.id == report.id,
            _reports.c.version == report.version - 1,
        )
        .values(row_of(report))
    )
    return (await connection.execute(change)).rowcount == 1


def _visible(organisation: str, scope: RowScope) -> Select[Any]:
    return scope.limit(select(_reports).where(_reports.c.organisation == organisation), _reports)
