"""The tables of jobs, their events, and of runners."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Column, Index, Table
from sqlmodel import Field, SQLModel

from baton.delegate.core.job import Job, Runner
from baton.kernel.base.sql import UTCDateTime, columns_of, table_of

JOBS = Table(
    "jobs",
    SQLModel.metadata,
    *columns_of(Job),
    Index("ix_jobs_user", "organisation", "user", "id"),
    Index("ix_jobs_session", "organisation", "user", "session_id"),
    Index("ix_jobs_state", "organisation", "state", "queued_at"),
    Index("ix_jobs_created", "organisation", "created_at"),
    Index("ux_jobs_idempotency", "organisation", "user", "idempotency_key", unique=True),
)  # delegated tasks, with one column per field of `Job`


class JobEventRow(SQLModel, table=True):
    """One event of a job. `seq` is the runner's number, NULL for the server's own events."""

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


RUNNERS = table_of("runners", Runner, keys=("organisation", "user", "id"))
"""The machines that run their owners' jobs."""


class RunnerCommandRow(SQLModel, table=True):
    """One command for a runner, until it is acknowledged."""

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
    """The agent mode of a delegating session, and the number of its next event."""

    __tablename__ = "session_delegation"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    session_id: str = Field(primary_key=True)
    agent_mode: str
    next_no: int
