"""Whose hooks are installed in which client."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0029"
down_revision: str | None = "0028"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "hooks_installed",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("client", sa.String(), nullable=False),
        sa.Column("installed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "user", "client"),
    )


def downgrade() -> None:
    op.drop_table("hooks_installed")
