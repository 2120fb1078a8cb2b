"""`/teams`, `/projects`: the teams, what each wants for itself and which projects it answers for."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from baton.kernel.http.etags import IfMatch, etag
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.directory import Project, Team
from baton.people.rate_limits import ADMIN
from baton.people.users import Users, version_of
from baton.people.users_api import Name

router = APIRouter(tags=["users"])
UsersOf = Annotated[Users, Depends(of(Users))]


class TeamBody(BaseModel):
    """A team to add."""

    model_config = ConfigDict(
        extra="forbid", str_max_length=1_000, json_schema_extra={"examples": [{"reason": "a new team"}]}
    )

    reason: str = ""


class TeamSettingsBody(BaseModel):
    """What a team wants for itself."""

    model_config = ConfigDict(
        extra="forbid",
        str_max_length=1_000,
        json_schema_extra={"examples": [{"keep_prompts": True, "reason": "agreed with the works council"}]},
    )

    keep_prompts: bool = Field(
        description="Keep what the team's people and agents ask for with the decisions, secrets masked."
    )
    reason: str = ""


class TeamModel(BaseModel):
    """A team, and what it wants for itself."""

    name: str
    keep_prompts: bool


class TeamsModel(BaseModel):
    """All teams, by name."""

    items: list[TeamModel]


class ProjectBody(BaseModel):
    """A project, and the team that answers for it."""

    model_config = ConfigDict(
        extra="forbid",
        str_max_length=1_000,
        json_schema_extra={
            "examples": [{"name": "github.com/acme/shop", "team": "shop", "reason": "moved from GitLab"}]
        },
    )

    name: str = Field(min_length=1)
    team: str = Field(min_length=1, max_length=200)
    reason: str = ""


class ProjectModel(BaseModel):
    """A project."""

    name: str
    team: str


class ListedProjectModel(ProjectModel):
    """A project, and what `PUT /projects` takes in `If-Match`."""

    etag: str


class ProjectsModel(BaseModel):
    """All projects that a team answers for, by name."""

    items: list[ListedProjectModel]


@router.get("/teams", operation_id="list_teams")
async def list_teams(caller: CallerOf, users: UsersOf) -> TeamsModel:
    """List the teams."""
    teams = users.teams(caller.principal)
    return TeamsModel(items=[TeamModel.model_validate(team, from_attributes=True) for team in teams])


@router.get("/teams/{name}", operation_id="get_team")
async def get_team(caller: CallerOf, users: UsersOf, response: Response, name: Name) -> TeamModel:
    """Show a team, and what it wants for itself."""
    return _team(response, users.team(caller.principal, name))


@router.put("/teams/{name}", operation_id="put_team", dependencies=[ADMIN])
async def put_team(caller: CallerOf, users: UsersOf, response: Response, name: Name, body: TeamBody) -> TeamModel:
    """Add a team; one that is there stays as it is."""
    return _team(response, await users.put_team(caller.principal, name, body.reason))


@router.put("/teams/{name}/settings", operation_id="put_team_settings", dependencies=[ADMIN])
async def put_team_settings(
    caller: CallerOf,
    users: UsersOf,
    response: Response,
    name: Name,
    body: TeamSettingsBody,
    if_match: IfMatch = None,
) -> TeamModel:
    """Set what a team wants for itself, as its lead or an admin; `If-Match` may name the `ETag` of the team."""
    team = await users.set_up_team(
        caller.principal, name, keep_prompts=body.keep_prompts, if_match=if_match, reason=body.reason
    )
    return _team(response, team)


def _team(response: Response, team: Team) -> TeamModel:
    response.headers["ETag"] = etag(version_of(team))
    return TeamModel.model_validate(team, from_attributes=True)


@router.get("/projects", operation_id="list_projects")
async def list_projects(caller: CallerOf, users: UsersOf) -> ProjectsModel:
    """List the projects that a team answers for."""
    projects = users.projects(caller.principal)
    return ProjectsModel(
        items=[ListedProjectModel(name=one.name, team=one.team, etag=etag(version_of(one))) for one in projects]
    )


@router.put("/projects", operation_id="put_project", dependencies=[ADMIN])
async def put_project(
    caller: CallerOf, users: UsersOf, response: Response, body: ProjectBody, if_match: IfMatch = None
) -> ProjectModel:
    """Set which team answers for a project; `If-Match` may name the `etag` of `GET /projects`."""
    project = Project(name=body.name, team=body.team)
    await users.put_project(caller.principal, project, if_match=if_match, reason=body.reason)
    response.headers["ETag"] = etag(version_of(project))
    return ProjectModel(name=body.name, team=body.team)
