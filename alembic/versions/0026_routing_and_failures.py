"""What a prompt's agent was told of other agents, and counts of hook calls that could not be decided."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0026"
down_revision: str | None = "0025"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("decisions", sa.Column("routed_as", sa.String(), nullable=False, server_default=""))
    # Of older prompts it is known whether an agent was chosen; the index of rare events finds them.
    op.execute(
        "UPDATE decisions SET routed_as = CASE WHEN routed_to <> '' THEN 'agent' ELSE 'none' END"
        " WHERE event <> 'PreToolUse' AND routed_by <> ''"
    )
    op.create_table(
        "hook_failures",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("hour", sa.String(), nullable=False),
        sa.Column("client", sa.String(), nullable=False),
        sa.Column("answer", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "hour", "client", "answer", "code"),
    )


def downgrade() -> None:
    op.drop_table("hook_failures")
    op.drop_column("decisions", "routed_as")
