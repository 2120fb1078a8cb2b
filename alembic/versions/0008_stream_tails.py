"""Jobs: how the agent's streams of chunks ended, so that a secret that is split across chunks is masked."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("stream_tails", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "stream_tails")
