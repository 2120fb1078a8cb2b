"""`/teams`, `/projects`: teams, their settings and projects."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from baton.kernel.http.fields import PROJECT, Shown, request_body
from baton.kernel.http.paging import IfMatch, etag
from baton.people.callers import CallerOf, UsersOf
from baton.people.directory import Alias, Project, Team
from baton.people.rate_limits import ADMIN
from baton.people.users import require, version_of
from baton.people.users_api import Name
from baton.shared.storable import canonical

router = APIRouter(tags=["users"])


class TeamBody(BaseModel):
    """A new team."""

    model_config = request_body({"reason": "a new team"}, longest=1_000)

    reason: str = ""


class TeamSettingsBody(BaseModel):
    """A team's settings."""

    model_config = request_body({"keep_prompts": True, "reason": "agreed with the works council"}, longest=1_000)

    keep_prompts: bool = Field(description="Store the team's prompts with the decisions, secrets masked.")
    reason: str = ""


class TeamsModel(BaseModel):
    """All teams, by name."""

    items: list[Shown[Team]]


class ProjectBody(BaseModel):
    """A project and its responsible team."""

    model_config = request_body(
        {"name": "github.com/acme/shop", "team": "shop", "reason": "moved from GitLab"}, longest=1_000
    )

    name: Annotated[str, PROJECT] = Field(min_length=1)
    team: str = Field(min_length=1, max_length=200)
    reason: str = ""


class AliasBody(BaseModel):
    """An alias of a project."""

    model_config = request_body(
        {"name": "mirror.acme.example/shop", "project": "github.com/acme/shop", "reason": "a mirror"}, longest=1_000
    )

    name: str = Field(min_length=1)
    project: str = Field(min_length=1)
    reason: str = ""


class ListedProject(Project, frozen=True, kw_only=True):
    """A project, with its `If-Match` value for `PUT /projects`."""

    etag: str


class ProjectsModel(BaseModel):
    """All projects with a team, by name, and all aliases."""

    items: list[Shown[ListedProject]]
    aliases: list[Shown[Alias]]


@router.get("/teams")
async def list_teams(caller: CallerOf, users: UsersOf) -> TeamsModel:
    """List the teams."""
    return TeamsModel(items=users.teams(caller.principal))


@router.get("/teams/{name}")
async def get_team(caller: CallerOf, users: UsersOf, response: Response, name: Name) -> Shown[Team]:
    """Show a team and its settings."""
    return _team(response, users.team(caller.principal, name))


@router.put("/teams/{name}", dependencies=[ADMIN])
async def put_team(caller: CallerOf, users: UsersOf, response: Response, name: Name, body: TeamBody) -> Shown[Team]:
    """Add a team. An existing one is unchanged."""
    return _team(response, await users.put_team(caller.principal, name, body.reason))


@router.put("/teams/{name}/settings", dependencies=[ADMIN])
async def put_team_settings(
    caller: CallerOf, users: UsersOf, response: Response, name: Name, body: TeamSettingsBody, if_match: IfMatch = None
) -> Shown[Team]:
    """Change a team's settings, as its lead or an admin. `If-Match` may be the `ETag` of the team."""
    team = await users.set_up_team(
        caller.principal, name, keep_prompts=body.keep_prompts, if_match=if_match, reason=body.reason
    )
    return _team(response, team)


def _team(response: Response, team: Team) -> Shown[Team]:
    response.headers["ETag"] = etag(version_of(team))
    return team


@router.get("/projects")
async def list_projects(caller: CallerOf, users: UsersOf) -> ProjectsModel:
    """List the projects with a team, and all aliases."""
    projects = users.projects(caller.principal)
    return ProjectsModel(
        items=[ListedProject(name=one.name, team=one.team, etag=etag(version_of(one))) for one in projects],
        aliases=users.aliases(caller.principal),
    )


@router.put("/projects", dependencies=[ADMIN])
async def put_project(
    caller: CallerOf, users: UsersOf, response: Response, body: ProjectBody, if_match: IfMatch = None
) -> Shown[Project]:
    """Set a project's team. `If-Match` may be the `etag` of `GET /projects`."""
    project = Project(name=body.name, team=body.team)
    await users.put_project(caller.principal, project, if_match=if_match, reason=body.reason)
    response.headers["ETag"] = etag(version_of(project))
    return project


@router.put("/projects/aliases", dependencies=[ADMIN])
async def put_project_alias(caller: CallerOf, users: UsersOf, body: AliasBody) -> Shown[Alias]:
    """Make a name an alias of a project: its mode, policies and team apply.

    Sessions adopt it with their next call. Settings of the alias itself are suspended meanwhile.
    """
    require(caller.principal, "projects.write")
    await users.check_known(caller, "project", canonical(body.project))
    return await users.put_alias(caller.principal, body.name, body.project, body.reason)


@router.delete("/projects/aliases", status_code=204, dependencies=[ADMIN])
async def delete_project_alias(
    caller: CallerOf,
    users: UsersOf,
    name: Annotated[str, Query(max_length=1_000, description="The alias.")],
    reason: Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")] = "",
) -> Response:
    """Remove an alias. Its name is a separate project again."""
    await users.remove_alias(caller.principal, name, reason)
    return Response(status_code=204)
