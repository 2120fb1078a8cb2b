"""`baton project`: which team answers for which project. It does not find the project of a folder: `project` does."""

from typing import Annotated

import typer

from baton.cli.groups import group
from baton.cli.output import show_json
from baton.local.server import Api

app = group("List and set which team owns which project.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the audit log.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the projects that a team answers for."""
    projects = Api().request("GET", "/projects")["items"]
    if as_json:
        show_json(projects)
        return
    for project in projects:
        print(f"{project['team']:<20} {project['name']}")
    if not projects:
        print("no team answers for a project")


@app.command("set")
def set_(
    team: Annotated[str, typer.Option(help="The team that answers for it.")],
    name: Annotated[str, typer.Argument(help="The project; that of this folder without it.")] = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Say which team answers for a project: its lead may then set the project's mode and policies."""
    api = Api(administer=True)
    project = api.request("PUT", "/projects", body={"name": name or api.project.name, "team": team, "reason": reason})
    if as_json:
        show_json(project)
        return
    print(f"Team {project['team']} answers for {project['name']}.")
