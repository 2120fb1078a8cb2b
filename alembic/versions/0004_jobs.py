"""Jobs, runners and what they tell."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("mode_settings", sa.Column("delegated", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("prompt", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("approval", sa.String(), nullable=False),
        sa.Column("isolation", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("cancel_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("runner_user", sa.String(), nullable=False),
        sa.Column("runner_id", sa.String(), nullable=False),
        sa.Column("boot_id", sa.String(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("depends_on", sa.JSON(), nullable=False),
        sa.Column("graph_id", sa.String(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("agent_type", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("system_prompt", sa.String(), nullable=False),
        sa.Column("thinking_budget", sa.Integer(), nullable=True),
        sa.Column("agent_session", sa.String(), nullable=False),
        sa.Column("timeout_s", sa.Integer(), nullable=False),
        sa.Column("next_no", sa.Integer(), nullable=False),
        sa.Column("progress", sa.String(), nullable=False),
        sa.Column("output", sa.String(), nullable=False),
        sa.Column("error_code", sa.String(), nullable=False),
        sa.Column("error_detail", sa.String(), nullable=False),
        sa.Column("late_result", sa.JSON(), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("idempotency_key", sa.String(), nullable=True),
        sa.Column("idempotency_digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_jobs_created", "jobs", ["organisation", "created_at"])
    op.create_index("ix_jobs_session", "jobs", ["organisation", "user", "session_id"])
    op.create_index("ix_jobs_state", "jobs", ["organisation", "state", "queued_at"])
    op.create_index("ix_jobs_user", "jobs", ["organisation", "user", "id"])
    op.create_index("ux_jobs_idempotency", "jobs", ["organisation", "user", "idempotency_key"], unique=True)
    op.create_table(
        "job_events",
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("no", sa.Integer(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("session_no", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=True),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "no"),
    )
    op.create_index("ix_job_events_session", "job_events", ["organisation", "user", "session_id", "session_no"])
    op.create_index("ux_job_events_seq", "job_events", ["job_id", "attempt", "seq"], unique=True)
    op.create_table(
        "job_permissions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("decided_by", sa.String(), nullable=False),
        sa.Column("decided_user", sa.String(), nullable=False),
        sa.Column("decision_id", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_job_permissions_job", "job_permissions", ["job_id", "id"])
    op.create_index("ix_job_permissions_state", "job_permissions", ["organisation", "state", "deadline"])
    op.create_table(
        "runners",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("boot_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("providers", sa.JSON(), nullable=False),
        sa.Column("workspaces", sa.JSON(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("active", sa.Integer(), nullable=False),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("last_seen", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "user", "id"),
    )
    op.create_table(
        "runner_commands",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("runner_id", sa.String(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_runner_commands_runner", "runner_commands", ["organisation", "user", "runner_id", "id"])
    op.create_table(
        "session_delegation",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("agent_mode", sa.String(), nullable=False),
        sa.Column("next_no", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "user", "session_id"),
    )


def downgrade() -> None:
    op.drop_table("session_delegation")
    op.drop_index("ix_runner_commands_runner", table_name="runner_commands")
    op.drop_table("runner_commands")
    op.drop_table("runners")
    op.drop_index("ix_job_permissions_job", table_name="job_permissions")
    op.drop_index("ix_job_permissions_state", table_name="job_permissions")
    op.drop_table("job_permissions")
    op.drop_index("ix_job_events_session", table_name="job_events")
    op.drop_index("ux_job_events_seq", table_name="job_events")
    op.drop_table("job_events")
    op.drop_index("ix_jobs_created", table_name="jobs")
    op.drop_index("ix_jobs_session", table_name="jobs")
    op.drop_index("ix_jobs_state", table_name="jobs")
    op.drop_index("ix_jobs_user", table_name="jobs")
    op.drop_index("ux_jobs_idempotency", table_name="jobs")
    op.drop_table("jobs")
    op.drop_column("mode_settings", "delegated")
