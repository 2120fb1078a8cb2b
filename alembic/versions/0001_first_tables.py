"""The first tables: decisions, mode settings, policy revisions, clients."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "clients_seen",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("client", sa.String(), nullable=False),
        sa.Column("protocol", sa.String(), nullable=False),
        sa.Column("last_seen", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "user", "client"),
    )
    op.create_table(
        "decision_rules",
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("decision_id", sa.String(), nullable=False),
        sa.Column("effect", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("rule", "decision_id"),
    )
    op.create_table(
        "decisions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("agent_type", sa.String(), nullable=False),
        sa.Column("client", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("tool_use_id", sa.String(), nullable=False),
        sa.Column("effect", sa.String(), nullable=False),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("mode_enabled", sa.Boolean(), nullable=False),
        sa.Column("mode_level", sa.String(), nullable=False),
        sa.Column("mode_scope", sa.String(), nullable=False),
        sa.Column("revision", sa.String(), nullable=False),
        sa.Column("elapsed_us", sa.Integer(), nullable=False),
        sa.Column("degraded", sa.JSON(), nullable=False),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("paths", sa.JSON(), nullable=False),
        sa.Column("model_injected", sa.String(), nullable=False),
        sa.Column("overridden", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("decisions", schema=None) as batch_op:
        batch_op.create_index("ix_decisions_at", ["organisation", "at"], unique=False)
        batch_op.create_index("ix_decisions_session", ["organisation", "session_id", "id"], unique=False)
        batch_op.create_index("ix_decisions_user", ["organisation", "user", "id"], unique=False)

    op.create_table(
        "mode_settings",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("activated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("auto_activated", sa.Boolean(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("key"),
    )
    with op.batch_alter_table("mode_settings", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_mode_settings_organisation"), ["organisation"], unique=False)

    op.create_table(
        "policy_revisions",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("revision", sa.String(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("activated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "revision"),
    )


def downgrade() -> None:
    op.drop_table("policy_revisions")
    with op.batch_alter_table("mode_settings", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_mode_settings_organisation"))

    op.drop_table("mode_settings")
    with op.batch_alter_table("decisions", schema=None) as batch_op:
        batch_op.drop_index("ix_decisions_user")
        batch_op.drop_index("ix_decisions_session")
        batch_op.drop_index("ix_decisions_at")

    op.drop_table("decisions")
    op.drop_table("decision_rules")
    op.drop_table("clients_seen")
