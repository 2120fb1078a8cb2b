"""Code maps: the outlines of a developer's files, by project."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "code_maps",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "user", "project"),
    )
    op.create_table(
        "code_map_files",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("symbol_count", sa.Integer(), nullable=False),
        sa.Column("symbols", sa.JSON(), nullable=False),
        sa.Column("mentions", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "user", "project", "path"),
    )


def downgrade() -> None:
    op.drop_table("code_map_files")
    op.drop_table("code_maps")
