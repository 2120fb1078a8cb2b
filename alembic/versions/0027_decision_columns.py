"""Decisions of each hour by column, in place of sums; the server fills them in the background."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0027"
down_revision: str | None = "0026"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_CALLS = (
    "decisions", "effect_deny", "effect_ask", "effect_rewrite", "effect_allow", "effect_abstain", "outcome_ran",
    "outcome_failed", "outcome_refused", "outcome_ran_anyway", "outcome_rewrite_ignored", "outcome_unknown", "overridden",
    "guided", "delegated", "direct", "spawned", "ignored", "injected_haiku", "injected_sonnet", "injected_opus",
    "injected_fable",
)  # fmt: skip
_SUMS = {
    "call_hours": (("session_id", "user", "team", "project", "client", "event", "first_id", "last_id"), _CALLS),
    "rule_hours": (("rule", "effect", "user", "team", "last_id"), ("hits",)),
    "latency_hours": (("team", "event", "degraded"), ("us", "decisions")),
}


def upgrade() -> None:
    for name in _SUMS:
        op.drop_table(name)
    op.drop_index("ix_decisions_usage", "decisions")
    op.create_table(
        "decision_columns",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("column", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "hour", "column"),
    )
    op.execute("DELETE FROM summed_hours")


def downgrade() -> None:
    op.execute("DELETE FROM summed_hours")
    op.drop_table("decision_columns")
    usage = sa.text("model_used <> ''")
    op.create_index(
        "ix_decisions_usage", "decisions", ["organisation", "id"], sqlite_where=usage, postgresql_where=usage
    )
    for name, (texts, counts) in _SUMS.items():
        op.create_table(
            name,
            sa.Column("organisation", sa.String(), nullable=False),
            sa.Column("hour", sa.Integer(), nullable=False),
            sa.Column("number", sa.Integer(), nullable=False),
            *(sa.Column(column, sa.String(), nullable=False) for column in texts),
            *(sa.Column(column, sa.Integer(), nullable=False) for column in counts),
            sa.PrimaryKeyConstraint("organisation", "hour", "number"),
            sqlite_with_rowid=False,
        )
