"""Converts databases of the last unreleased revisions to the first released one, in the migration's transaction.

Revision 0031 gave each project one name. Decisions, jobs and graphs keep their recorded names. If two spellings had a
setting each, the canonical name's stays; a second policy layer keeps its old name, without effect. Code maps of another
spelling are dropped: their owner's client sends them again.
"""

from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from baton.sessions.exceptions.service import EXCEPTIONS
from baton.shared.storable import canonical

BEFORE_ALIASES = "0030"
REVISIONS = frozenset({BEFORE_ALIASES, "0031"})
FIRST = "0032"
_ALIASES = (
    "CREATE TABLE project_aliases (organisation VARCHAR NOT NULL, name VARCHAR NOT NULL, project VARCHAR NOT NULL,"
    " PRIMARY KEY (organisation, name))"
)
_CHANGED = (
    "DROP TABLE overrides",
    "DROP TABLE context_days",
    "DROP TABLE routing_fits",
    "ALTER TABLE route_feedback DROP COLUMN agents",
    "ALTER TABLE route_feedback DROP COLUMN features",
    # Keys of context handlers are secrets, now unused.
    "DELETE FROM organisation_settings WHERE key IN ('context-sources', 'enrichment-handlers')",
    "DROP TABLE decision_rules",
    "ALTER TABLE event_webhooks ADD COLUMN format VARCHAR DEFAULT 'cloudevents' NOT NULL",
    "ALTER TABLE event_webhooks ADD COLUMN console VARCHAR DEFAULT '' NOT NULL",
    "ALTER TABLE decisions ADD COLUMN repeats INTEGER DEFAULT '0' NOT NULL",
    # Written again with the new column.
    "UPDATE summed_hours SET valid = false",
)
_KEPT_INDEXES = frozenset({"ix_decisions_user", "ix_decisions_session", "ix_decisions_team"})


_FREEZES = sa.Table(
    "freezes",
    sa.MetaData(),
    sa.Column("key", sa.String(), nullable=False, primary_key=True),
    sa.Column("organisation", sa.String(), nullable=False, index=True),
    *(sa.Column(name, sa.String(), nullable=False) for name in ("scope", "id", "user")),
    sa.Column("read_only", sa.Boolean(), server_default=sa.false(), nullable=False),
    sa.Column("reason", sa.String(), nullable=False),
    sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
    sa.Column("set_by", sa.String(), nullable=False),
    sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
)

_TEXTS = (
    "organisation", "user", "team", "project", "session_id", "client", "tool", "act", "shown", "rule", "reason", "approvers",
    "state", "answer_reason", "decided_by",
)  # fmt: skip
_APPROVALS = sa.Table(
    "approvals",
    _FREEZES.metadata,
    sa.Column("id", sa.String(), nullable=False, primary_key=True),
    *(sa.Column(name, sa.String(), nullable=False) for name in _TEXTS),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    *(sa.Column(name, sa.String(), nullable=False) for name in ("job", "job_title", "workspace", "decision_id")),
    sa.Column("reading", sa.JSON(), nullable=False),
    sa.Index("ix_approvals_act", "organisation", "user", "session_id", "act"),
    sa.Index("ix_approvals_state", "organisation", "state", "expires_at"),
    sa.Index("ix_approvals_job", "job"),
)
_MOVE_QUESTIONS = """
INSERT INTO approvals
SELECT p.id, p.organisation, p."user", j.team, j.project, j.session_id,
  CASE j.agent_type WHEN '' THEN j.provider ELSE j.agent_type END, 'call', '', CAST(p.request AS VARCHAR(4000)), '',
  'The server was updated while an agent waited for an answer.',
  CASE WHEN j.runner_user IN ('', p."user") THEN 'self' ELSE 'user:' || j.runner_user END,
  'waiting', '', '', p.created_at, p.deadline, j.id, j.description, j.workspace, p.decision_id, p.reading
FROM job_permissions p JOIN jobs j ON j.id = p.job_id WHERE p.state = 'pending'
"""


def convert(connection: Connection, revision: str) -> None:
    """Convert the schema and the data of a database at one of `REVISIONS` to the first released revision."""
    if revision == BEFORE_ALIASES:
        connection.execute(sa.text(_ALIASES))
        _fold_projects(connection)
    for statement in _CHANGED:
        connection.execute(sa.text(statement))
    _move_decisions(connection)
    _FREEZES.metadata.create_all(connection, checkfirst=False)
    connection.execute(sa.text(_MOVE_QUESTIONS))
    connection.execute(sa.text("DROP TABLE job_permissions"))
    EXCEPTIONS.create(connection)
    connection.execute(sa.text("UPDATE alembic_version SET version_num = :first"), {"first": FIRST})


def _move_decisions(connection: Connection) -> None:
    """Give decisions the primary key (organisation, id) and drop the indexes of rare filters."""
    if connection.dialect.name != "sqlite":
        indexes = {one["name"] or "" for one in sa.inspect(connection).get_indexes("decisions")}
        for name in sorted(indexes - _KEPT_INDEXES):
            connection.execute(sa.text(f"DROP INDEX {name}"))
        connection.execute(sa.text("ALTER TABLE decisions DROP CONSTRAINT decisions_pkey"))
        connection.execute(sa.text("ALTER TABLE decisions ADD PRIMARY KEY (organisation, id)"))
        return
    master = sa.table("sqlite_master", *map(sa.column, ("name", "tbl_name", "sql")))
    kept = sa.select(master.c.sql).where(master.c.name.in_(_KEPT_INDEXES))
    statements = connection.execute(kept).scalars().all()
    table = connection.execute(sa.select(master.c.sql).where(master.c.name == "decisions")).scalar_one()
    connection.execute(sa.text("ALTER TABLE decisions RENAME TO old_decisions"))
    connection.exec_driver_sql(table.replace("PRIMARY KEY (id)", "PRIMARY KEY (organisation, id)") + " WITHOUT ROWID")
    connection.execute(sa.text("INSERT INTO decisions SELECT * FROM old_decisions ORDER BY organisation, id"))
    connection.execute(sa.text("DROP TABLE old_decisions"))
    for statement in statements:
        connection.exec_driver_sql(statement)


def _fold_projects(connection: Connection) -> None:
    _fold(connection, "projects", ("organisation", "name"), "name")
    _fold_layers(connection)
    _fold(connection, "mode_settings", ("key",), "id", sa.column("scope") == "project")
    _fold(connection, "mode_settings", ("key",), "project", sa.column("scope") == "user_project")
    _fold(connection, "patterns", ("id",), "project")
    for name in ("code_maps", "code_map_files"):
        table = sa.table(name, sa.column("project"))
        names = connection.execute(sa.select(table.c.project).distinct()).scalars().all()
        for old in (one for one in names if canonical(one) != one):
            connection.execute(table.delete().where(table.c.project == old))


def _fold_layers(connection: Connection) -> None:
    table = sa.table("policy_layers", *map(sa.column, ("organisation", "tier", "name")))
    query = sa.select(table.c.organisation, table.c.name).where(table.c.tier == "project").distinct()
    names = {(row.organisation, row.name) for row in connection.execute(query)}
    for organisation, old in sorted(names):
        new = canonical(old)
        if (organisation, new) not in names:  # every version of it, in one piece
            this = (table.c.organisation == organisation, table.c.tier == "project", table.c.name == old)
            connection.execute(table.update().where(*this).values(name=new))
            names.add((organisation, new))


def _fold(
    connection: Connection, name: str, key: tuple[str, ...], column: str, only: sa.ColumnElement[bool] | None = None
) -> None:
    table = sa.Table(name, sa.MetaData(), autoload_with=connection)
    query = sa.select(table) if only is None else sa.select(table).where(only)
    for row in connection.execute(query).mappings().all():
        new = canonical(row[column])
        if new == row[column]:
            continue
        changed: dict[str, Any] = {**row, column: new}
        if name == "mode_settings":
            parts = (row["user"], new) if column == "project" else (new, "")
            changed["key"] = _digest(row["organisation"], row["scope"], *parts)
        if name == "patterns":
            changed["said"] = _digest(row["team"], new, " ".join(row["signature"].lower().split()))
        this = sa.and_(*(table.c[part] == row[part] for part in key))
        unique = ("organisation", "said") if name == "patterns" else key
        taken = sa.select(sa.literal(1)).where(*(table.c[part] == changed[part] for part in unique))
        if connection.execute(taken).first() is None:
            values = {part: changed[part] for part in ("key", "said", column) if part in changed}
            connection.execute(table.update().where(this).values(values))
        else:
            connection.execute(table.delete().where(this))


def _digest(*parts: str) -> str:
    return sha256("".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()
