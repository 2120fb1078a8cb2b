"""`baton team project`: the owning team of each project, and its other names."""

from typing import Annotated

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason
from baton.cli.output import end_with_json, show_table
from baton.local.server import Api

app = group("List and set the owners and aliases of projects.")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the owned projects of teams, and aliases of projects."""
    found = Api().request("GET", "/projects")
    end_with_json(found["items"], when=as_json)
    owned = [(one["team"], one["name"]) for one in found["items"]]
    show_table(("team", "project"), owned, none="No team owns a project.")
    aliases = [(one["name"], one["project"]) for one in found["aliases"]]
    if aliases:
        show_table(("alias", "of project"), aliases, none="")


@app.command("set")
def set_(
    team: Annotated[str, typer.Option(help="The team owning it.")],
    name: Annotated[str, typer.Argument(help="The project. Default: this folder's project.")] = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Set the owning team of a project: its lead may then set the project's mode and policies."""
    api = Api(administer=True)
    project = api.request("PUT", "/projects", body={"name": name or api.project.name, "team": team, "reason": reason})
    end_with_json(project, when=as_json)
    print(f"Team {project['team']} owns {project['name']}.")


@app.command()
def alias(
    name: Annotated[str, typer.Argument(help="The other name, as `baton status` shows it there, or a remote's URL.")],
    of: Annotated[str, typer.Option(help="The project. Default: this folder's project.")] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Let the name be a project of its own again.")] = False,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Let another name mean a project, such as a mirror or the repository's former place."""
    api = Api(administer=True)
    if remove:
        api.request("DELETE", "/projects/aliases", query={"name": name, "reason": reason})
        print(f"{name} is no alias any more.")
        return
    body = {"name": name, "project": of or api.project.name, "reason": reason}
    made = api.request("PUT", "/projects/aliases", body=body)
    end_with_json(made, when=as_json)
    print(f"{made['name']} means {made['project']}.")
