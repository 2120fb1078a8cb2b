"""`baton user`: the users, their teams, and the data about them."""

import json
from pathlib import Path
from typing import Annotated

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason, UsageError, path_of
from baton.cli.output import end_with_json, show_json, show_table
from baton.local.server import Api

app = group("Manage users, and export or delete their data.")

Name = Annotated[str, typer.Argument(help="The user.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the users visible to you."""
    users = Api().pages("/users", {})
    end_with_json(users, when=as_json)
    rows = [
        (one["name"], one["team"], one["role"], "disabled" if one.get("disabled_at") else "active") for one in users
    ]
    show_table(("user", "team", "role", "state"), rows, none="No users.")


@app.command("set")
def set_(
    name: Name,
    team: Annotated[str, typer.Option(help="Move them to this team. Default: no change.")] = "",
    disabled: Annotated[
        bool | None, typer.Option("--disabled/--enabled", help="Refuse or accept their tokens. Default: no change.")
    ] = None,
    role: Annotated[
        str,
        typer.Option(
            help="Their role when they sign in to the console with their company's account: developer, lead, admin or auditor."
            " Default: no change."
        ),
    ] = "",
    forget_account: Annotated[
        bool, typer.Option("--forget-account", help="The next account signing in under this name becomes theirs.")
    ] = False,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Add a user, move them to a team, disable or enable them, set the role of their account."""
    body = {"team": team, "disabled": disabled, "role": role, "forget_account": forget_account, "reason": reason}
    user = Api(administer=True).request("PUT", path_of("users", name), body=body)
    end_with_json(user, when=as_json)
    disabled_now = ", disabled" if user.get("disabled_at") else ""
    print(f"{user['name']} is in team {user['team']}, role {user['role']}{disabled_now}.")


@app.command()
def export(
    name: Name,
    to: Annotated[Path | None, typer.Option(help="The file to write. Default: standard output.")] = None,
    as_json: AsJson = False,
) -> None:
    """Export all stored data about a user, as JSON."""
    data = Api().request("GET", path_of("users", name, "export"))
    if to is None or as_json:
        show_json(data)
    if to is not None:
        to.touch(mode=0o600)
        to.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


@app.command("delete-data")
def delete_data(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm: deleted data cannot be restored.")] = False,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Delete a user's decisions, sessions, modes and clients; tokens and the audit log stay."""
    if not yes:
        raise UsageError(f"this deletes the data about `{name}` for good; confirm it with `--yes`")
    answer = Api().request("DELETE", path_of("users", name, "data"), query={"reason": reason})
    end_with_json(answer, when=as_json)
    counts = ", ".join(f"{table} {count}" for table, count in answer["deleted"].items() if count)
    print(f"Deleted of {name}: {counts or 'nothing, as nothing was stored'}.")
