"""What each change of shared state concerned, so that other servers read that alone again."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0022"
down_revision: str | None = "0021"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "changed_objects",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("object", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "kind", "number", "part"),
    )


def downgrade() -> None:
    op.drop_table("changed_objects")
