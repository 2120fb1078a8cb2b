"""Decisions: the agent that a call starts, and its trace; jobs: their trace; an index of the calls that report tokens."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_REPORTS_USAGE = sa.text("model_used <> ''")


def upgrade() -> None:
    for table, name in (("decisions", "started_agent"), ("decisions", "traceparent"), ("jobs", "traceparent")):
        op.add_column(table, sa.Column(name, sa.String(), nullable=False, server_default=""))
    op.create_index(
        "ix_decisions_usage",
        "decisions",
        ["organisation", "id"],
        sqlite_where=_REPORTS_USAGE,
        postgresql_where=_REPORTS_USAGE,
    )


def downgrade() -> None:
    op.drop_index("ix_decisions_usage", "decisions")
    for table, name in (("jobs", "traceparent"), ("decisions", "traceparent"), ("decisions", "started_agent")):
        op.drop_column(table, name)
