"""`baton team`: the teams, and what each wants for itself. It moves no people: `baton user` does."""

from typing import Annotated
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.output import show_json
from baton.local.server import Api, ApiError

app = group("List, add and configure teams.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the audit log.")]
Name = Annotated[str, typer.Argument(help="The team.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the teams, and which of them keep prompts."""
    teams = Api().request("GET", "/teams")["items"]
    if as_json:
        show_json(teams)
        return
    for team in teams:
        print(f"{team['name']:<20} {_prompts(keep=team['keep_prompts'])}")


@app.command()
def add(name: Name, reason: Reason = "", as_json: AsJson = False) -> None:
    """Enter a team that no user or project names yet."""
    team = Api(administer=True).request("PUT", f"/teams/{quote(name, safe='')}", body={"reason": reason})
    if as_json:
        show_json(team)
        return
    print(f"Team {team['name']} is there.")


@app.command("set")
def set_(
    name: Name,
    keep_prompts: Annotated[
        bool | None,
        typer.Option(
            "--keep-prompts/--no-keep-prompts",
            help="Keep what people and agents ask for with the decisions, secrets masked, or keep nothing of it.",
        ),
    ] = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Set what a team wants for itself, as its lead or an admin."""
    if keep_prompts is None:
        raise ApiError("nothing to set; allowed: `--keep-prompts`, `--no-keep-prompts`")
    body = {"keep_prompts": keep_prompts, "reason": reason}
    team = Api(administer=True).request("PUT", f"/teams/{quote(name, safe='')}/settings", body=body)
    if as_json:
        show_json(team)
        return
    print(f"Team {team['name']} {_prompts(keep=team['keep_prompts'])}; docs/privacy.md says what that means.")


def _prompts(*, keep: bool) -> str:
    return "keeps prompts" if keep else "keeps no prompts"
