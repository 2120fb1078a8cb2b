"""Decisions: what became of the call, how long it took, and what its agent used."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_COUNTS = ("input_tokens", "cached_tokens", "output_tokens")


def upgrade() -> None:
    op.add_column("decisions", sa.Column("outcome", sa.String(), nullable=False, server_default=""))
    op.add_column("decisions", sa.Column("duration_ms", sa.Integer(), nullable=True))
    op.add_column("decisions", sa.Column("model_used", sa.String(), nullable=False, server_default=""))
    for name in _COUNTS:
        op.add_column("decisions", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    for name in ("outcome", "duration_ms", "model_used", *_COUNTS):
        op.drop_column("decisions", name)
