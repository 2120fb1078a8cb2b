"""What was put into prompts and what of it was used, by day, user and source."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0019"
down_revision: str | None = "0018"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "context_days",
        *(sa.Column(name, sa.String(), nullable=False) for name in ("organisation", "day", "team", "user", "source")),
        *(
            sa.Column(name, sa.Integer(), nullable=False)
            for name in ("prompts", "tokens", "measured", "used", "injected", "reused")
        ),
        sa.PrimaryKeyConstraint("organisation", "day", "team", "user", "source"),
    )


def downgrade() -> None:
    op.drop_table("context_days")
