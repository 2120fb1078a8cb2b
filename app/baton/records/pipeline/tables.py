"""The tables of decisions: their rows, their rule hits, and what is kept of their counts."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import JSON, Column, Index, Table, text
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import UTCDateTime

RARE = {
    "agent_id": "agent_id <> ''",
    "agent_type": "agent_type <> ''",
    "event": "event <> 'PreToolUse'",
    "effect": "effect <> 'abstain'",
}
"""Columns with an index over all but their usual value, and its condition.

The decisions with the usual value are found without an index: nearly each one has it.
"""
HIT_EFFECTS = ("guidance", "shadow", "lifted")
"""Effects that a rule may have beside the one that decided; decisions are found by them through their rule hits."""
BESIDE = "effect IN ('guidance', 'shadow', 'lifted')"
OVERRIDDEN = "overridden"
PROJECT_START_CHARACTERS = 200
"""Characters of a project's name that its index holds: Postgres's indexes take no text above 2.7 KB."""


class DecisionRow(SQLModel, table=True):
    """One decision; the columns are the fields of `baton.engine.call.record.Record`."""

    __tablename__ = "decisions"
    __table_args__ = (
        Index("ix_decisions_id", "organisation", "id"),
        Index("ix_decisions_user", "organisation", "user", "id"),
        Index("ix_decisions_session", "organisation", "session_id", "id"),
        Index("ix_decisions_team", "organisation", "team", "id"),
        Index("ix_decisions_client", "organisation", "client", "id"),
        Index("ix_decisions_tool", "organisation", "tool", "id"),
        Index("ix_decisions_revision", "organisation", "revision", "id"),
        Index("ix_decisions_outcome", "organisation", "outcome", "id"),
        Index("ix_decisions_project", "organisation", text(f"substr(project, 1, {PROJECT_START_CHARACTERS})"), "id"),
        *(
            Index(
                f"ix_decisions_{name}", "organisation", name, "id", sqlite_where=text(rare), postgresql_where=text(rare)
            )
            for name, rare in RARE.items()
        ),
        Index(
            "ix_decisions_overridden",
            "organisation",
            "id",
            sqlite_where=text(OVERRIDDEN),
            postgresql_where=text(OVERRIDDEN),
        ),
    )
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    """A UUIDv7: decisions are found by time through it, and `at` is its moment."""
    at: datetime = Field(sa_type=UTCDateTime)
    organisation: str
    team: str
    user: str
    project: str
    session_id: str
    agent_id: str
    agent_type: str
    client: str
    event: str
    tool: str
    tool_use_id: str
    effect: str
    decision: str
    rules: list[dict[str, str]] = Field(sa_column=Column(JSON, nullable=False))
    mode_enabled: bool
    mode_level: str
    mode_scope: str
    revision: str
    elapsed_us: int
    degraded: list[str] = Field(sa_column=Column(JSON, nullable=False))
    command: str
    paths: list[str] = Field(sa_column=Column(JSON, nullable=False))
    model_injected: str
    role: str = Field(default="", sa_column_kwargs={"server_default": ""})
    prompt: str = Field(default="", sa_column_kwargs={"server_default": ""})
    overridden: bool
    routed_to: str = Field(default="", sa_column_kwargs={"server_default": ""})
    routed_by: str = Field(default="", sa_column_kwargs={"server_default": ""})
    routed_as: str = Field(default="", sa_column_kwargs={"server_default": ""})
    confidence: float = Field(default=0.0, sa_column_kwargs={"server_default": "0"})
    outcome: str = Field(default="", sa_column_kwargs={"server_default": ""})
    duration_ms: int | None = None
    model_used: str = Field(default="", sa_column_kwargs={"server_default": ""})
    input_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    cached_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    output_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    started_agent: str = Field(default="", sa_column_kwargs={"server_default": ""})
    traceparent: str = Field(default="", sa_column_kwargs={"server_default": ""})
    client_version: str = Field(default="", sa_column_kwargs={"server_default": ""})


class DecisionTotalRow(SQLModel, table=True):
    """How many tool calls are stored of a user in a team with one effect, so that `/status` counts no rows."""

    __tablename__ = "decision_totals"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    team: str = Field(primary_key=True)
    effect: str = Field(primary_key=True)
    decisions: int


class DecisionRuleRow(SQLModel, table=True):
    """One rule hit of a decision, in a table of its own so that decisions are found by rule."""

    __tablename__ = "decision_rules"
    __table_args__ = (
        Index(
            "ix_decision_rules_effect", "effect", "decision_id", "rule",
            sqlite_where=text(BESIDE), postgresql_where=text(BESIDE),
        ),
    )  # fmt: skip
    __table__: ClassVar[Table]

    rule: str = Field(primary_key=True)
    decision_id: str = Field(primary_key=True)
    effect: str


DECISIONS = DecisionRow.__table__
LISTED = [column for column in DECISIONS.c if column.name != "prompt"]
"""The columns of a list of decisions. Prompts are long, so `get` alone reads them."""
