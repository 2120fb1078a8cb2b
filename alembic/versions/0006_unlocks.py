"""Unlocks: locked policies that an admin freed for a time."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "policy_unlocks",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_policy_unlocks_organisation", "policy_unlocks", ["organisation", "until"])


def downgrade() -> None:
    op.drop_index("ix_policy_unlocks_organisation", table_name="policy_unlocks")
    op.drop_table("policy_unlocks")
