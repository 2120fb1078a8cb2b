"""`baton team`: the teams and their settings. `baton user` moves people between them."""

from typing import Annotated

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason, UsageError, path_of
from baton.cli.output import end_with_json, show_table
from baton.cli.people import project
from baton.local.server import Api

app = group("List, add and configure teams.")

Name = Annotated[str, typer.Argument(help="The team.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the teams, and whether each keeps prompts."""
    teams = Api().request("GET", "/teams")["items"]
    end_with_json(teams, when=as_json)
    rows = [(one["name"], "kept" if one["keep_prompts"] else "not kept") for one in teams]
    show_table(("team", "prompts"), rows, none="No teams.")


@app.command()
def add(name: Name, reason: Reason = "", as_json: AsJson = False) -> None:
    """Add a team."""
    team = Api(administer=True).request("PUT", path_of("teams", name), body={"reason": reason})
    end_with_json(team, when=as_json)
    print(f"Team {team['name']} exists.")


@app.command("set")
def set_(
    name: Name,
    keep_prompts: Annotated[
        bool | None,
        typer.Option(
            "--keep-prompts/--no-keep-prompts",
            help="Store prompts with the decisions, secrets masked; or store no prompts.",
        ),
    ] = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Change a team's settings, as its lead or an admin."""
    if keep_prompts is None:
        raise UsageError("nothing to set; give `--keep-prompts` or `--no-keep-prompts`")
    body = {"keep_prompts": keep_prompts, "reason": reason}
    team = Api(administer=True).request("PUT", path_of("teams", name, "settings"), body=body)
    end_with_json(team, when=as_json)
    what = "keeps prompts" if team["keep_prompts"] else "keeps no prompts"
    print(f"Team {team['name']} {what}; docs/privacy.md explains the effect.")


app.add_typer(project.app, name="project")
