"""Patterns: what a team has learned."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "patterns",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("said", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("globs", sa.JSON(), nullable=False),
        sa.Column("check_for", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("stated", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decided_by", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("merged_into", sa.String(), nullable=False),
        sa.Column("shown", sa.Integer(), nullable=False),
        sa.Column("followed", sa.Integer(), nullable=False),
        sa.Column("violated", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_patterns_team", "patterns", ["organisation", "team", "status", "id"])
    op.create_index("ix_patterns_number", "patterns", ["organisation", "number", "id"])
    op.create_index("ux_patterns_said", "patterns", ["organisation", "said"], unique=True)


def downgrade() -> None:
    op.drop_table("patterns")
