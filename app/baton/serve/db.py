"""`baton db`: the database itself, for the machine that the server runs on. It works on SQL, not on the server.

The database is the one that `BATON_DATABASE_URL` or `BATON_HOME` names. A server migrates by itself when it starts.
"""

import asyncio
import sys
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import typer

from baton.engine.call.principal import Principal
from baton.serve.server_settings import server_settings
from baton.shared.time_span import time_span

app = typer.Typer(
    help="Check and migrate the database, and recover admin access.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Found = TypeVar("Found")
# What speaks SQL takes half a second to import; every command of `baton` would pay for it.


@app.command()
def check() -> None:
    """Tell whether the schema is this Baton's; exits with 1, and what is missing, when it is not."""
    missing = _missing()
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
    from baton.operate import migrate

    missing = _missing()
    _do(migrate.upgrade(server_settings()))
    print(f"{_named()}: " + (f"added {', '.join(missing)}" if missing else "the schema was the newest already"))


@app.command()
def downgrade(
    revision: Annotated[str, typer.Argument(help="The revision to go back to, such as 0001.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it: what only later revisions hold is lost.")] = False,
) -> None:
    """Take the schema back to an older Baton's; stop every server first, and make a backup."""
    from baton.operate import migrate

    if not yes:
        print("baton: what only later revisions hold would be lost; back up, then say `--yes`", file=sys.stderr)
        raise typer.Exit(2)
    _do(migrate.downgrade(server_settings(), revision))
    print(f"{_named()}: the schema is at {revision}")


@app.command("admin-token")
def admin_token(
    user: Annotated[str, typer.Option(help="Whom it speaks for; the operating system's user without it.")] = "",
    expires: Annotated[str, typer.Option(help="From when it is refused: 90d, 12h, 30min.")] = "1d",
) -> None:
    """Make an admin's token where the last one is lost, and show it this once; servers know it within a second."""
    from baton.kernel.base.sql import Database
    from baton.people import first_token

    settings = server_settings()
    try:
        until = datetime.now(UTC) + time_span(expires)
    except ValueError as error:
        print(f"baton: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    if _missing():
        print("baton: the schema is not this Baton's; `baton db check` tells what it lacks", file=sys.stderr)
        raise typer.Exit(1)
    admin = Principal(
        organisation=settings.organisation, team=settings.team, user=user or settings.default_user, role="admin"
    )

    async def made() -> str:
        database = Database(settings)
        try:
            return await first_token.recover(database, admin, until)
        finally:
            await database.close()

    text = _do(made())
    print(f"An admin's token for {admin.user}, until {until.isoformat()}, shown this once:")
    print(text)


def _missing() -> list[str]:
    from baton.operate import migrate

    return _do(migrate.missing(server_settings()))


def _do(work: Coroutine[None, None, Found]) -> Found:
    from baton.kernel.base.sql import DatabaseUnavailable

    try:
        return asyncio.run(work)
    except (DatabaseUnavailable, OSError, ValueError) as error:
        print(f"baton: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def _named() -> str:
    from baton.kernel.base.sql import database_url

    return database_url(server_settings()).render_as_string(hide_password=True)
