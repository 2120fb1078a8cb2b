"""Browser sessions: whom a browser speaks for, and the links that begin one."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0020"
down_revision: str | None = "0019"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "browser_sessions",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("link", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("token_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_browser_sessions_organisation", "browser_sessions", ["organisation", "expires_at"])


def downgrade() -> None:
    op.drop_table("browser_sessions")
