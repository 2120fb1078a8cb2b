"""`baton user`: who belongs to which team, and what is kept about a person. It makes no tokens: `baton token` does."""

import json
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.output import show_json
from baton.local.server import Api, ApiError

app = group("Manage users, and export or delete their data.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the audit log.")]
Name = Annotated[str, typer.Argument(help="The user.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the users that you may see."""
    users = Api().pages("/users", {})
    if as_json:
        show_json(users)
        return
    for user in users:
        print(f"{user['name']:<20} {user['team']}{'  disabled' if user.get('disabled_at') else ''}")


@app.command("set")
def set_(
    name: Name,
    team: Annotated[str, typer.Option(help="Their team; it stays without this.")] = "",
    disabled: Annotated[
        bool | None, typer.Option("--disabled/--enabled", help="Refuse their tokens, or not; it stays without this.")
    ] = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Enter a user, move them to a team, disable or enable them."""
    body = {"team": team, "disabled": disabled, "reason": reason}
    user = Api(administer=True).request("PUT", f"/users/{quote(name, safe='')}", body=body)
    if as_json:
        show_json(user)
        return
    print(f"{user['name']} is in team {user['team']}{', disabled' if user.get('disabled_at') else ''}.")


@app.command()
def export(
    name: Name,
    to: Annotated[Path | None, typer.Option(help="File to write; the terminal without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give everything that is kept about a user, as JSON."""
    kept = Api().request("GET", f"/users/{quote(name, safe='')}/export")
    if to is None or as_json:
        show_json(kept)
    if to is not None:
        to.touch(mode=0o600)
        to.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")


@app.command("delete-data")
def delete_data(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do it: what is deleted cannot be had back.")] = False,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Delete a user's decisions, sessions, modes and clients; tokens and the audit log stay."""
    if not yes:
        raise ApiError(f"this deletes what is kept about `{name}` for good; say so with --yes")
    answer = Api().request("DELETE", f"/users/{quote(name, safe='')}/data", query={"reason": reason})
    if as_json:
        show_json(answer)
        return
    counts = ", ".join(f"{table} {count}" for table, count in answer["deleted"].items() if count)
    print(f"Deleted of {name}: {counts or 'nothing, for nothing was kept'}.")
