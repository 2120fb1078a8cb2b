"""Jobs: how long their agents may be silent and they may wait, the thread they continue, the folder they work in.

Runners: the folders of their workspaces.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_NEW = (
    ("inactivity_timeout_s", sa.Integer(), "0"),
    ("thread", sa.String(), "continue"),
    ("concurrent", sa.Boolean(), sa.false()),
    ("queue_expiry_s", sa.Integer(), "0"),
    ("thread_user", sa.String(), ""),
    ("thread_runner", sa.String(), ""),
    ("folder", sa.String(), ""),
)
"""New columns of jobs, with what they hold for the jobs that are there."""


def upgrade() -> None:
    for name, kind, default in _NEW:
        op.add_column("jobs", sa.Column(name, kind, nullable=False, server_default=default))
    op.add_column("jobs", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("runners", sa.Column("folders", sa.JSON(), nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("runners", "folders")
    for name in ("expires_at", *(name for name, *_ in reversed(_NEW))):
        op.drop_column("jobs", name)
