"""Decisions of each day by column, in one piece; the server fills them in the background."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0030"
down_revision: str | None = "0029"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "summed_days",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("valid", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "day"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "day_columns",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("column", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "day", "column"),
    )


def downgrade() -> None:
    op.drop_table("day_columns")
    op.drop_table("summed_days")
