"""The team server: identities, audit, policy layers, overrides, reports."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("mode_settings", sa.Column("locked", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("decisions", sa.Column("role", sa.String(), nullable=False, server_default=""))
    op.add_column("decisions", sa.Column("prompt", sa.String(), nullable=False, server_default=""))
    op.create_table(
        "audit",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("object", sa.String(), nullable=False),
        sa.Column("before", sa.JSON(), nullable=False),
        sa.Column("after", sa.JSON(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_audit_organisation", "audit", ["organisation", "id"])
    op.create_table(
        "changes",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "kind"),
    )
    op.create_table(
        "policy_layers",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("activated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "tier", "name", "version"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_tokens_organisation", "tokens", ["organisation", "id"])
    op.create_table(
        "users",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("organisation", "name"),
    )
    op.create_table(
        "teams",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("keep_prompts", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "name"),
    )
    op.create_table(
        "projects",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "name"),
    )
    op.create_table(
        "leases",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("work", sa.String(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "work"),
    )
    op.create_table(
        "organisation_settings",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "key"),
    )
    op.create_table(
        "overrides",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_overrides_organisation", "overrides", ["organisation", "expires_at"])
    op.create_table(
        "reports",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("decision_id", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("answer", sa.String(), nullable=False),
        sa.Column("resolved_by", sa.String(), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_reports_organisation", "reports", ["organisation", "id"])
    op.create_index("ux_reports_decision", "reports", ["organisation", "decision_id", "user"], unique=True)


def downgrade() -> None:
    op.drop_column("decisions", "prompt")
    op.drop_column("decisions", "role")
    op.drop_column("mode_settings", "locked")
    op.drop_index("ux_reports_decision", table_name="reports")
    op.drop_index("ix_reports_organisation", table_name="reports")
    op.drop_table("reports")
    op.drop_index("ix_overrides_organisation", table_name="overrides")
    op.drop_table("overrides")
    op.drop_table("organisation_settings")
    op.drop_table("leases")
    op.drop_table("projects")
    op.drop_table("teams")
    op.drop_table("users")
    op.drop_index("ix_tokens_organisation", table_name="tokens")
    op.drop_table("tokens")
    op.drop_table("policy_layers")
    op.drop_table("changes")
    op.drop_index("ix_audit_organisation", table_name="audit")
    op.drop_table("audit")
