"""Hourly sums of decisions, for analytics; the server fills them in the background."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0024"
down_revision: str | None = "0023"
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
    op.create_table(
        "summed_hours",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("valid", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "hour"),
        sqlite_with_rowid=False,
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


def downgrade() -> None:
    for name in (*_SUMS, "summed_hours"):
        op.drop_table(name)
