"""`baton db`: checks and migrates the database, on the server's machine, with or without a running server.

`BATON_DATABASE_URL` or `BATON_HOME` names the database. A starting server migrates it automatically.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import typer

from baton.rules.call.call import Principal
from baton.serve.settings_doc import server_settings
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
# Importing SQL takes half a second, so each command imports what it needs.


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
        print("run `baton db upgrade`, or start the server")
    raise typer.Exit(1 if missing else 0)


@app.command()
def upgrade(as_json: AsJson = False) -> None:
    """Upgrade the schema to this version of Baton; data is kept."""
    from baton.operate import migrate

    missing, begin = _missing(), time.monotonic()
    for revision in missing:
        print(f"adding {revision} …", file=sys.stderr, flush=True)
    _do(migrate.upgrade(server_settings()))
    if as_json:
        _show_json({"database": _named(), "added": missing})
        return
    added = f"added {', '.join(missing)} in {time.monotonic() - begin:.1f} s"
    print(f"{_named()}: " + (added if missing else "the schema was already up to date"))


@app.command()
def downgrade(
    revision: Annotated[str, typer.Argument(help="The revision to go back to, such as 0032.")],
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the loss of data of later revisions.")] = False,
    as_json: AsJson = False,
) -> None:
    """Downgrade the schema to an older version of Baton. Stop every server first, and make a backup."""
    from baton.operate import migrate

    if not yes:
        print("baton: data of later revisions would be lost; make a backup, then confirm with `--yes`", file=sys.stderr)
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
    """Create a replacement admin token, and show it once. Servers accept it within a second.

    Agents cannot run it: a person must.
    """
    from baton.kernel.base.sql import Database
    from baton.people import first_token
    from baton.shared.agent_process import agent_above

    if why := agent_above(os.getpid()):
        print(f"baton: only a person may create a token, but this command is an agent's: {why}", file=sys.stderr)
        raise typer.Exit(1)

    settings = server_settings()
    try:
        until = datetime.now(UTC) + time_span(expires)
    except ValueError as error:
        print(f"baton: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    if _missing():
        print("baton: the schema is not up to date; see `baton db check`", file=sys.stderr)
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
    """Add a past week to a demonstration (`baton demo`): backdated copies of its agents' actions.

    It refuses a database with any other data. Agents cannot run it: a person must.
    """
    from random import Random

    from baton.kernel.base.sql import Database
    from baton.operate.demo_history import add_past
    from baton.shared.agent_process import agent_above

    if why := agent_above(os.getpid()):
        print(f"baton: only a person may backdate decisions, but this command is an agent's: {why}", file=sys.stderr)
        raise typer.Exit(1)
    settings = server_settings()
    if _missing():
        print("baton: the schema is not up to date; see `baton db check`", file=sys.stderr)
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
    print(f"{stored} decisions were stored for the last days; their sessions start with `demo-past-`.")


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
    from baton.kernel.base.sql import database_url

    return database_url(server_settings()).render_as_string(hide_password=True)
