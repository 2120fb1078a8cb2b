"""`baton project`: which team owns which project."""

from typing import Annotated

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason
from baton.cli.output import show_json, show_table
from baton.local.server import Api

app = group("List and set which team owns which project.")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the projects that a team owns."""
    projects = Api().request("GET", "/projects")["items"]
    if as_json:
        show_json(projects)
        return
    show_table(("team", "project"), [(one["team"], one["name"]) for one in projects], none="No team owns a project.")


@app.command("set")
def set_(
    team: Annotated[str, typer.Option(help="The team that owns it.")],
    name: Annotated[str, typer.Argument(help="The project. Default: that of this folder.")] = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Set which team owns a project: its lead may then set the project's mode and policies."""
    api = Api(administer=True)
    project = api.request("PUT", "/projects", body={"name": name or api.project.name, "team": team, "reason": reason})
    if as_json:
        show_json(project)
        return
    print(f"Team {project['team']} owns {project['name']}.")
