"""The version of the client that a decision's request came from."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0023"
down_revision: str | None = "0022"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("decisions", sa.Column("client_version", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("decisions", "client_version")
