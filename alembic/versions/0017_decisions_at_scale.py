"""Decisions: an index for each filter, which ends with the id, and kept totals."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_PLAIN = {
    "id": [],
    "team": ["team"],
    "client": ["client"],
    "tool": ["tool"],
    "revision": ["revision"],
    "outcome": ["outcome"],
}
_RARE = {
    "agent_id": "agent_id <> ''",
    "agent_type": "agent_type <> ''",
    "event": "event <> 'PreToolUse'",
    "effect": "effect <> 'abstain'",
}


def upgrade() -> None:
    for name, columns in _PLAIN.items():
        op.create_index(f"ix_decisions_{name}", "decisions", ["organisation", *columns, "id"])
    op.create_index("ix_decisions_project", "decisions", ["organisation", sa.text("substr(project, 1, 200)"), "id"])
    for name, rare in _RARE.items():
        _partial(f"ix_decisions_{name}", ["organisation", name, "id"], rare)
    _partial("ix_decisions_overridden", ["organisation", "id"], "overridden")
    op.drop_index("ix_decisions_at", table_name="decisions")
    totals = op.create_table(
        "decision_totals",
        sa.Column("organisation", sa.String(), nullable=False),
        sa.Column("user", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("effect", sa.String(), nullable=False),
        sa.Column("decisions", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "user", "team", "effect"),
    )
    decisions = sa.table("decisions", *map(sa.column, ("organisation", "user", "team", "effect", "event")))
    keys = [decisions.c[name] for name in ("organisation", "user", "team", "effect")]
    counted = sa.select(*keys, sa.func.count()).where(decisions.c.event == "PreToolUse").group_by(*keys)
    op.execute(totals.insert().from_select(["organisation", "user", "team", "effect", "decisions"], counted))
    op.execute("ANALYZE decisions")


def _partial(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "decisions", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def downgrade() -> None:
    op.drop_table("decision_totals")
    op.create_index("ix_decisions_at", "decisions", ["organisation", "at"])
    for name in ("overridden", *_RARE, "project", *_PLAIN):
        op.drop_index(f"ix_decisions_{name}", table_name="decisions")
