"""`baton db`: checks and migrates the database, on the server's machine; the server need not run.

The database is the one that `BATON_DATABASE_URL` or `BATON_HOME` names. A server migrates by itself when it starts.
"""

import asyncio
import json
import os
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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
T = TypeVar("T")
# SQL takes half a second to import, so each command imports what it needs.


@app.command()
def check(as_json: AsJson = False) -> None:
    """Check whether the schema is up to date. The exit status is 1 if it is not."""
    missing = _missing()
    if as_json:
        _show_json({"database": _named(), "missing": missing})
    elif not missing:
        print(f"{_named()}: the schema is up to date")
    else:
        print(f"{_named()}: the schema lacks")
        for revision in missing:
            print(f"  {revision}")
        print("`baton db upgrade` adds it, and so does the server when it starts")
    raise typer.Exit(1 if missing else 0)


@app.command()
def upgrade(as_json: AsJson = False) -> None:
    """Upgrade the schema to this version of Baton; data is kept."""
    from baton.operate import migrate

    missing = _missing()
    _do(migrate.upgrade(server_settings()))
    if as_json:
        _show_json({"database": _named(), "added": missing})
        return
    print(f"{_named()}: " + (f"added {', '.join(missing)}" if missing else "the schema was up to date already"))


@app.command()
def downgrade(
    revision: Annotated[str, typer.Argument(help="The revision to go back to, such as 0001.")],
    yes: Annotated[bool, typer.Option("--yes", help="Confirm: data that only later revisions hold is lost.")] = False,
    as_json: AsJson = False,
) -> None:
    """Downgrade the schema to an older version of Baton. Stop every server first, and make a backup."""
    from baton.operate import migrate

    if not yes:
        print(
            "baton: data that only later revisions hold would be lost; make a backup, then confirm with `--yes`",
            file=sys.stderr,
        )
        raise typer.Exit(2)
    _do(migrate.downgrade(server_settings(), revision))
    if as_json:
        _show_json({"database": _named(), "revision": revision})
        return
    print(f"{_named()}: the schema is at {revision}")


@app.command("admin-token")
def admin_token(
    user: Annotated[str, typer.Option(help="The user it belongs to. Default: the operating system's user.")] = "",
    expires: Annotated[str, typer.Option(metavar="SPAN", help="When it expires, such as 30m, 8h, 90d.")] = "1d",
    as_json: AsJson = False,
) -> None:
    """Create an admin token if the last one is lost, and show it, this once. Servers accept it within a second.

    A person runs it: an agent is refused.
    """
    from baton.kernel.base.sql import Database
    from baton.people import first_token
    from baton.shared.agent_process import agent_above

    if why := agent_above(os.getpid()):
        print(f"baton: only a person makes a token, and this command is an agent's: {why}", file=sys.stderr)
        raise typer.Exit(1)

    settings = server_settings()
    try:
        until = datetime.now(UTC) + time_span(expires)
    except ValueError as error:
        print(f"baton: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    if _missing():
        print("baton: the schema is not up to date; `baton db check` shows what it lacks", file=sys.stderr)
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
    if as_json:
        _show_json({"user": admin.user, "expires_at": until.isoformat(), "text": text})
        return
    print(f"An admin token for {admin.user}, until {until.isoformat()}, shown this once:")
    print(text)


@app.command("demo-history")
def demo_history(as_json: AsJson = False) -> None:
    """Add a past week to a demonstration (`baton demo`): copies of what its agents did, dated on the last days.

    A database that holds anything else is left alone. A person runs it: an agent is refused.
    """
    from random import Random

    from baton.kernel.base.sql import Database
    from baton.operate.demo_history import add_past
    from baton.shared.agent_process import agent_above

    if why := agent_above(os.getpid()):
        print(f"baton: only a person dates decisions back, and this command is an agent's: {why}", file=sys.stderr)
        raise typer.Exit(1)
    settings = server_settings()
    if _missing():
        print("baton: the schema is not up to date; `baton db check` shows what it lacks", file=sys.stderr)
        raise typer.Exit(1)
    person = Principal(organisation=settings.organisation, team=settings.team, user=settings.default_user, role="admin")

    async def added() -> int:
        database = Database(settings)
        try:
            return await add_past(database, person, datetime.now(UTC), Random())  # noqa: S311 - no secret
        finally:
            await database.close()

    stored = _do(added())
    if as_json:
        _show_json({"decisions": stored})
        return
    print(f"{stored} decisions were stored at moments of the last days; their sessions begin with `demo-past-`.")


def _missing() -> list[str]:
    from baton.operate import migrate

    return _do(migrate.missing(server_settings()))


def _do(work: Coroutine[None, None, T]) -> T:
    from baton.kernel.base.sql import DatabaseUnavailable

    try:
        return asyncio.run(work)
    except (DatabaseUnavailable, OSError, ValueError) as error:
        print(f"baton: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def _show_json(value: dict[str, object]) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def _named() -> str:
    """Return the database's URL without its password."""
    from baton.kernel.base.sql import database_url

    return database_url(server_settings()).render_as_string(hide_password=True)
