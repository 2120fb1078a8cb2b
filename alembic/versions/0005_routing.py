"""Routing: rosters that teams push, what people say of routes, weights fitted to it; where a prompt was led."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("decisions", sa.Column("routed_to", sa.String(), nullable=False, server_default=""))
    op.add_column("decisions", sa.Column("routed_by", sa.String(), nullable=False, server_default=""))
    op.add_column("decisions", sa.Column("confidence", sa.Float(), nullable=False, server_default="0"))
    op.create_table(
        "routing_rosters",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("agents", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "tier", "owner", "name", "version"),
    )
    op.create_table(
        "route_feedback",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("route_id", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("selected", sa.String(), nullable=False),
        sa.Column("right_agent", sa.String(), nullable=False),
        sa.Column("agents", sa.JSON(), nullable=False),
        sa.Column("features", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "route_id", "user"),
    )
    op.create_index("ix_route_feedback_team", "route_feedback", ["organisation", "team", "at"])
    op.create_table(
        "routing_fits",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("weights", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "team", "version"),
    )


def downgrade() -> None:
    op.drop_table("routing_fits")
    op.drop_index("ix_route_feedback_team", table_name="route_feedback")
    op.drop_table("route_feedback")
    op.drop_table("routing_rosters")
    op.drop_column("decisions", "confidence")
    op.drop_column("decisions", "routed_by")
    op.drop_column("decisions", "routed_to")
