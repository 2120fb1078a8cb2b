"""The tables of task graphs: graphs, whose rows every change locks, their tasks, their violations."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, Table
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import UTCDateTime


class TaskGraphRow(SQLModel, table=True):
    """One graph, of one user's session."""

    __tablename__ = "task_graphs"
    __table_args__ = (
        Index("ix_task_graphs_session", "organisation", "session_id", "id"),
        Index("ix_task_graphs_closes_at", "organisation", "closes_at"),
    )
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    team: str
    user: str
    session_id: str
    project: str
    roster: str
    level: str
    barrier: str
    window_ms: int
    on_window_close: str
    execute: str
    workspace: str
    windows: list[str | None] = Field(sa_type=JSON)
    closes_at: datetime | None = Field(sa_type=UTCDateTime)
    created_at: datetime = Field(sa_type=UTCDateTime)


class GraphTaskRow(SQLModel, table=True):
    """One task of a graph."""

    __tablename__ = "graph_tasks"
    __table_args__ = (Index("ix_graph_tasks_user", "organisation", "user"),)
    __table__: ClassVar[Table]

    graph_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    organisation: str
    user: str
    position: int
    wave: int
    agent_type: str
    description: str
    prompt: str
    depends_on: list[str] = Field(sa_type=JSON)
    state: str
    task_id: str
    job_id: str
    auto: bool
    spawned_at: datetime | None = Field(sa_type=UTCDateTime)
    ended_at: datetime | None = Field(sa_type=UTCDateTime)
    detail: str
    plan: dict[str, Any] = Field(sa_type=JSON)


class GraphViolationRow(SQLModel, table=True):
    """One rule of the waves that was broken: the start was refused, or only counted."""

    __tablename__ = "graph_violations"
    __table_args__ = (Index("ix_graph_violations_graph", "organisation", "graph_id"),)
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    user: str
    graph_id: str
    wave: int
    task: str
    kind: str
    detail: str
    refused: bool
    at: datetime = Field(sa_type=UTCDateTime)
