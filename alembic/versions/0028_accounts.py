"""Signing in with a company's accounts: a user's role and account, and the account that signed a browser in."""

from collections.abc import Sequence

import sqlalchemy as sa

from alembic import op

revision: str = "0028"
down_revision: str | None = "0027"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("users", sa.Column("role", sa.String(), nullable=False, server_default="developer"))
    op.add_column("users", sa.Column("account", sa.String(), nullable=False, server_default=""))
    op.add_column("browser_sessions", sa.Column("account", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    # Without the column a session of an account would be one of nobody's token.
    op.execute("DELETE FROM browser_sessions WHERE account <> ''")
    op.drop_column("browser_sessions", "account")
    op.drop_column("users", "account")
    op.drop_column("users", "role")
