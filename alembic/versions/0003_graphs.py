"""Task graphs."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "task_graphs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("roster", sa.String(), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("barrier", sa.String(), nullable=False),
        sa.Column("window_ms", sa.Integer(), nullable=False),
        sa.Column("on_window_close", sa.String(), nullable=False),
        sa.Column("execute", sa.String(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("windows", sa.JSON(), nullable=False),
        sa.Column("closes_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_task_graphs_session", "task_graphs", ["organisation", "session_id", "id"])
    op.create_index("ix_task_graphs_closes_at", "task_graphs", ["organisation", "closes_at"])
    op.create_table(
        "graph_tasks",
        sa.Column("graph_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("agent_type", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("prompt", sa.String(), nullable=False),
        sa.Column("depends_on", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("auto", sa.Boolean(), nullable=False),
        sa.Column("spawned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("graph_id", "name"),
    )
    op.create_index("ix_graph_tasks_user", "graph_tasks", ["organisation", "user"])
    op.create_table(
        "graph_violations",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("graph_id", sa.String(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_graph_violations_graph", "graph_violations", ["organisation", "graph_id"])


def downgrade() -> None:
    op.drop_index("ix_graph_violations_graph", table_name="graph_violations")
    op.drop_table("graph_violations")
    op.drop_index("ix_graph_tasks_user", table_name="graph_tasks")
    op.drop_table("graph_tasks")
    op.drop_index("ix_task_graphs_closes_at", table_name="task_graphs")
    op.drop_index("ix_task_graphs_session", table_name="task_graphs")
    op.drop_table("task_graphs")
