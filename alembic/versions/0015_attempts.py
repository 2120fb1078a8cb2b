"""Jobs: what they wait for, their attempts, and the tokens that came from the cache."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("waiting_for", sa.String(), nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("waiting_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("jobs", sa.Column("cached_tokens", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("attempts", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    for name in ("attempts", "cached_tokens", "waiting_since", "waiting_for"):
        op.drop_column("jobs", name)
