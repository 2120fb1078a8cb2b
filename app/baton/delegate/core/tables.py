"""The tables of delegation: jobs, what they tell, their runners. Queries stand in the files beside this one."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Column, Index, Table
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import UTCDateTime


class JobRow(SQLModel, table=True):
    """One delegated task, as `baton.delegate.core.store.Job` describes it."""

    __tablename__ = "jobs"
    __table_args__ = (
        Index("ix_jobs_user", "organisation", "user", "id"),
        Index("ix_jobs_session", "organisation", "user", "session_id"),
        Index("ix_jobs_state", "organisation", "state", "queued_at"),
        Index("ix_jobs_created", "organisation", "created_at"),
        Index("ux_jobs_idempotency", "organisation", "user", "idempotency_key", unique=True),
    )
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    user: str
    team: str
    session_id: str
    project: str
    provider: str
    workspace: str
    prompt: str
    description: str
    approval: str
    isolation: str
    state: str
    cancel_requested: bool
    cancel_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    attempt: int
    max_attempts: int
    digest: str
    lease_until: datetime | None = Field(default=None, sa_type=UTCDateTime)
    runner_user: str
    runner_id: str
    boot_id: str
    last_seq: int
    depends_on: list[str] = Field(sa_column=Column(JSON, nullable=False))
    graph_id: str
    task: str
    agent_type: str
    tier: str
    model: str
    system_prompt: str
    thinking_budget: int | None = None
    agent_session: str
    timeout_s: int
    next_no: int
    progress: str
    output: str
    error_code: str
    error_detail: str
    late_result: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=True))
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None
    created_at: datetime = Field(sa_type=UTCDateTime)
    queued_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    deadline: datetime | None = Field(default=None, sa_type=UTCDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    idempotency_key: str | None = None
    idempotency_digest: str


class JobEventRow(SQLModel, table=True):
    """One thing that a job told; `seq` is the runner's own number of it, empty for what the server says."""

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
    """One thing that an agent asked leave for."""

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
    slots: int
    active: int
    shared: bool
    last_seen: datetime = Field(sa_type=UTCDateTime)


class RunnerCommandRow(SQLModel, table=True):
    """One thing that a runner is to do, until it says that it was told."""

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
    """One session that delegates: its agent mode, and the next number in its stream."""

    __tablename__ = "session_delegation"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    session_id: str = Field(primary_key=True)
    agent_mode: str
    next_no: int
