"""Tokens: the machine whose hooks a token is for."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("tokens", sa.Column("machine", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("tokens", "machine")
