"""The tables of jobs, their events and permission requests, and of runners. The queries are in the `…_store` files."""

from datetime import datetime
from types import NoneType, UnionType
from typing import Any, ClassVar, get_args

import msgspec
from msgspec.structs import FieldInfo
from sqlalchemy import JSON, Boolean, Column, Float, Index, Integer, Table
from sqlalchemy.types import TypeEngine
from sqlmodel import AutoString, Field, SQLModel

from baton.delegate.core.job import Job, State
from baton.kernel.base.sql import UTCDateTime

_COLUMN_TYPES: dict[Any, TypeEngine[Any]] = {
    str: AutoString(),
    State: AutoString(),
    int: Integer(),
    bool: Boolean(),
    float: Float(),
    datetime: UTCDateTime(),
}
"""Types of columns by types of fields; every other field is JSON."""


def _job_column(field: FieldInfo) -> Column[Any]:
    """Make the column of a field of `Job`, nullable if the field may be None."""
    kind, nullable = field.type, isinstance(field.type, UnionType)
    if nullable:
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    column_type = _COLUMN_TYPES.get(kind, JSON(none_as_null=True))
    column: Column[Any] = Column(column_type, primary_key=field.name == "id", nullable=nullable)
    # Named afterwards, as SQLModel does it: `Column` turns a name into a subclass of `str`, which msgspec takes for no
    # field's name in rows.
    column.name = column.key = field.name
    return column


JOBS = Table(
    "jobs",
    SQLModel.metadata,
    *map(_job_column, msgspec.structs.fields(Job)),
    Index("ix_jobs_user", "organisation", "user", "id"),
    Index("ix_jobs_session", "organisation", "user", "session_id"),
    Index("ix_jobs_state", "organisation", "state", "queued_at"),
    Index("ix_jobs_created", "organisation", "created_at"),
    Index("ux_jobs_idempotency", "organisation", "user", "idempotency_key", unique=True),
)
"""Delegated tasks: a column for each field of `Job`."""


class JobEventRow(SQLModel, table=True):
    """One event of a job; `seq` is the runner's own number of it, NULL for the server's own events."""

    __tablename__ = "job_events"
    __table_args__ = (
        Index("ux_job_events_seq", "job_id", "attempt", "seq", unique=True),
        Index("ix_job_events_session", "organisation", "user", "session_id", "session_no"),
    )
    __table__: ClassVar[Table]

    job_id: str = Field(primary_key=True)
    no: int = Field(primary_key=True)
    organisation: str
    user: str
    session_id: str
    session_no: int
    attempt: int
    seq: int | None = None
    type: str
    body: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    at: datetime = Field(sa_type=UTCDateTime)


class JobPermissionRow(SQLModel, table=True):
    """One permission request of an agent."""

    __tablename__ = "job_permissions"
    __table_args__ = (
        Index("ix_job_permissions_job", "job_id", "id"),
        Index("ix_job_permissions_state", "organisation", "state", "deadline"),
    )
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    user: str
    job_id: str
    attempt: int
    request: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    state: str
    decided_by: str
    decided_user: str
    decision_id: str
    reason: str
    created_at: datetime = Field(sa_type=UTCDateTime)
    deadline: datetime = Field(sa_type=UTCDateTime)
    decided_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    reading: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False, server_default="{}"))


class RunnerRow(SQLModel, table=True):
    """One machine that runs its owner's jobs."""

    __tablename__ = "runners"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    team: str
    boot_id: str
    name: str
    version: str
    providers: list[str] = Field(sa_column=Column(JSON, nullable=False))
    workspaces: list[str] = Field(sa_column=Column(JSON, nullable=False))
    folders: dict[str, str] = Field(sa_column=Column(JSON, nullable=False))
    slots: int
    active: int
    shared: bool
    last_seen: datetime = Field(sa_type=UTCDateTime)


class RunnerCommandRow(SQLModel, table=True):
    """One command for a runner, until the runner acknowledges it."""

    __tablename__ = "runner_commands"
    __table_args__ = (Index("ix_runner_commands_runner", "organisation", "user", "runner_id", "id"),)
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    user: str
    runner_id: str
    job_id: str
    attempt: int
    kind: str
    body: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    created_at: datetime = Field(sa_type=UTCDateTime)


class SessionDelegationRow(SQLModel, table=True):
    """One session that delegates: its agent mode, and the number of its next event."""

    __tablename__ = "session_delegation"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    session_id: str = Field(primary_key=True)
    agent_mode: str
    next_no: int
