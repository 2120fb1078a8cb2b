"""The token of a delegated agent: its digest, kept with the job while it is leased."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("agent_digest", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("jobs", "agent_digest")
