"""`baton db`: the database's schema, for the machine that the server runs on. It works on SQL, not on the server.

The database is the one that `BATON_DATABASE_URL` or `BATON_HOME` names. A server migrates by itself when it starts.
"""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Annotated, TypeVar

import typer

from app.cli.server_settings import server_settings
from app.store import migrate
from app.store.sql import DatabaseUnavailable, database_url

app = typer.Typer(help="Look at the database's schema, and change it.", no_args_is_help=True)
Found = TypeVar("Found")


@app.command()
def check() -> None:
    """Tell whether the schema is this Baton's; exits with 1, and what is missing, when it is not."""
    settings = server_settings()
    missing = _do(migrate.missing(settings))
    if not missing:
        print(f"{_named()}: the schema is the newest")
        return
    print(f"{_named()}: the schema lacks")
    for revision in missing:
        print(f"  {revision}")
    print("`baton db upgrade` adds it, and so does the server when it starts")
    raise typer.Exit(1)


@app.command()
def upgrade() -> None:
    """Bring the schema to this Baton's; data is kept."""
    settings = server_settings()
    missing = _do(migrate.missing(settings))
    _do(migrate.upgrade(settings))
    print(f"{_named()}: " + (f"added {', '.join(missing)}" if missing else "the schema was the newest already"))


@app.command()
def downgrade(
    revision: Annotated[str, typer.Argument(help="The revision to go back to, such as 0001.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it: what only later revisions hold is lost.")] = False,
) -> None:
    """Take the schema back to an older Baton's; stop every server first, and make a backup."""
    if not yes:
        print("baton: what only later revisions hold would be lost; back up, then say `--yes`", file=sys.stderr)
        raise typer.Exit(2)
    _do(migrate.downgrade(server_settings(), revision))
    print(f"{_named()}: the schema is at {revision}")


def _do(work: Coroutine[None, None, Found]) -> Found:
    try:
        return asyncio.run(work)
    except (DatabaseUnavailable, OSError, ValueError) as error:
        print(f"baton: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def _named() -> str:
    return database_url(server_settings()).render_as_string(hide_password=True)
