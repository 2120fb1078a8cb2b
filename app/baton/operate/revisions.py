"""Runs alembic on a connection: upgrades and downgrades the schema, and lists missing revisions."""
# ruff: noqa: E402

import sys

sys.modules.setdefault("mako.ext.pygmentplugin", None)  # type: ignore[arg-type] # or alembic's templates load 30 lexers
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from alembic import command
from baton.operate import unreleased
from baton.shared import packaged


def config(connection: Connection | None = None) -> Config:
    """Build alembic's configuration; with a connection, alembic runs on it."""
    made = Config(attributes={"connection": connection})
    made.set_main_option("script_location", str(packaged.folder("alembic")).replace("%", "%%"))
    return made


def upgrade(connection: Connection) -> None:
    """Upgrade to the newest revision. Raise ValueError if the database belongs to a newer Baton."""
    current = _current(connection)
    if current in unreleased.REVISIONS:
        unreleased.convert(connection, current)
    try:
        command.upgrade(config(connection), "head")
    except (CommandError, RevisionError) as error:
        raise ValueError(_unknown(error)) from None


def downgrade(connection: Connection, revision: str) -> None:
    """Downgrade to a revision. Raise ValueError if no revision before the database's own has this id."""
    try:
        command.downgrade(config(connection), revision)
    except (CommandError, RevisionError) as error:
        raise ValueError(_unknown(error)) from None


def lacking(connection: Connection | None) -> list[str]:
    """Describe each revision missing in a database, oldest first; without a connection, all of them.

    Raises:
        ValueError: If the database belongs to a newer Baton.
    """
    current = _current(connection) if connection is not None else ""
    if current in unreleased.REVISIONS:
        current = ""
    known = ScriptDirectory.from_config(config())
    try:
        found = list(known.iterate_revisions("head", current or "base"))
    except (CommandError, RevisionError) as error:
        raise ValueError(_unknown(error)) from None
    return [f"{one.revision}: {one.doc}" for one in reversed(found)]


def _current(connection: Connection) -> str:
    return MigrationContext.configure(connection).get_current_revision() or ""


def _unknown(error: Exception) -> str:
    known = ScriptDirectory.from_config(config())
    revisions = ", ".join(f"`{one.revision}`" for one in reversed(list(known.walk_revisions())))
    return f"the database's schema does not belong to this version of Baton: {error}; known revisions: {revisions}"
