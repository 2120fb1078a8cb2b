"""How the call of a permission request was read, and rule hits that are found by their effect."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0025"
down_revision: str | None = "0024"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

RARE = sa.text("effect IN ('guidance', 'shadow', 'lifted')")


def upgrade() -> None:
    op.add_column("job_permissions", sa.Column("reading", sa.JSON(), nullable=False, server_default="{}"))
    op.create_index(
        "ix_decision_rules_effect",
        "decision_rules",
        ["effect", "decision_id", "rule"],
        sqlite_where=RARE,
        postgresql_where=RARE,
    )


def downgrade() -> None:
    op.drop_index("ix_decision_rules_effect", "decision_rules")
    op.drop_column("job_permissions", "reading")
