"""`PUT /rosters/{name}` and its removal; an agent's definition on demand. It indexes and routes nothing."""

import asyncio
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from baton.engine.routing.candidates import Agent
from baton.kernel.base.errors import Invalid
from baton.kernel.http.etags import IfMatch, etag, version_in
from baton.kernel.http.features import of
from baton.people.dependencies import CallerOf
from baton.people.rate_limits import ADMIN
from baton.route.rosters.push import RosterPushes, agents_in
from baton.route.rosters.push_store import PushedRoster
from baton.route.rosters.rows import RosterRows

router = APIRouter(tags=["rosters"])
RosterPushesOf = Annotated[RosterPushes, Depends(of(RosterPushes))]
RosterRowsOf = Annotated[RosterRows, Depends(of(RosterRows))]

MOST_AGENTS = 2_000
_Tier = Annotated[Literal["team", "organisation"], Query(description="Whom the roster is for.")]
_Team = Annotated[str, Query(max_length=200, description="The team; your own without it.")]
_Reason = Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")]
_Name = Annotated[str, Path(min_length=1, max_length=200)]
_AgentName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Line = Annotated[str, StringConstraints(max_length=4_000)]
_FilePath = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class AgentBody(BaseModel):
    """An agent. `triggers` are words that must stand in a prompt, or regular expressions between slashes."""

    model_config = ConfigDict(extra="ignore")

    name: _AgentName
    description: str | None = Field(None, max_length=50_000)
    body: str | None = Field(None, max_length=400_000)
    triggers: list[_Line] | None = Field(None, max_length=200)
    capabilities: list[_Line] | None = Field(None, max_length=200)
    examples: list[_Line] | None = Field(None, max_length=200)

    def agent(self) -> Agent:
        """See it as routing does."""
        return Agent(
            name=self.name,
            description=self.description or "",
            body=self.body or "",
            triggers=tuple(self.triggers or ()),
            capabilities=tuple(self.capabilities or ()),
            examples=tuple(self.examples or ()),
        )


class RosterBody(BaseModel):
    """A roster: its agents, or the texts of agents' files by path as they are."""

    model_config = ConfigDict(extra="forbid")

    description: str = Field("", max_length=4_000)
    agents: list[AgentBody] = Field(default=[], max_length=MOST_AGENTS)
    files: dict[_FilePath, str] = Field(default={}, max_length=MOST_AGENTS)
    reason: str = Field("", max_length=1_000)


class PushedRosterModel(BaseModel):
    """A version of a pushed roster; `agents` is their number."""

    name: str
    tier: Literal["team", "organisation"]
    team: str | None = None
    version: int
    description: str
    agents: int
    created_at: datetime
    created_by: str
    reason: str

    @classmethod
    def of(cls, one: PushedRoster) -> "PushedRosterModel":
        """Show a stored version."""
        return cls(
            name=one.name,
            tier=one.tier,
            team=one.owner if one.tier == "team" else None,
            version=one.version,
            description=one.description,
            agents=one.size,
            created_at=one.created_at,
            created_by=one.created_by,
            reason=one.reason,
        )


class AgentDefinitionModel(BaseModel):
    """An agent's whole definition; `source` says whose roster it stands in."""

    roster: str
    source: Literal["team", "organisation", "policies"]
    name: str
    description: str
    body: str
    triggers: list[str]
    capabilities: list[str]
    examples: list[str]


@router.put("/rosters/{name}", operation_id="put_roster", dependencies=[ADMIN], response_model_exclude_none=True)
async def put_roster(
    caller: CallerOf,
    pushes: RosterPushesOf,
    response: Response,
    name: _Name,
    body: RosterBody,
    tier: _Tier = "team",
    team: _Team = "",
    if_match: IfMatch = None,
) -> PushedRosterModel:
    """Push a roster: a new version, in force at once on every server; `If-Match` names the one that it replaces."""
    if bool(body.agents) == bool(body.files):
        raise Invalid("agents", "and `files`: exactly one of them must be given")
    if body.agents:
        agents = [one.agent() for one in body.agents]
    else:
        agents = await asyncio.to_thread(agents_in, body.files)
    stored = await pushes.push(
        caller.principal,
        tier,
        team,
        name,
        description=body.description,
        agents=agents,
        if_match=version_in(if_match),
        reason=body.reason,
    )
    response.headers["ETag"] = etag(stored.version)
    return PushedRosterModel.of(stored)


@router.delete("/rosters/{name}", operation_id="delete_roster", status_code=204, dependencies=[ADMIN])
async def delete_roster(
    caller: CallerOf,
    pushes: RosterPushesOf,
    name: _Name,
    tier: _Tier = "team",
    team: _Team = "",
    reason: _Reason = "",
    if_match: IfMatch = None,
) -> Response:
    """Take a pushed roster out of force; its versions stay."""
    await pushes.remove(caller.principal, tier, team, name, if_match=version_in(if_match), reason=reason)
    return Response(status_code=204)


@router.get("/rosters/{name}/agents/{agent:path}", operation_id="get_roster_agent")
async def get_roster_agent(
    caller: CallerOf,
    rows: RosterRowsOf,
    response: Response,
    name: _Name,
    agent: Annotated[str, Path(min_length=1, max_length=200)],
    project: Annotated[str, Query(max_length=1_024)] = "",
) -> AgentDefinitionModel:
    """Show an agent's whole definition."""
    source, version, found = await rows.agent(caller.principal, project or caller.project, name, agent)
    if version:
        response.headers["ETag"] = etag(version)
    return AgentDefinitionModel(
        roster=name,
        source=source,
        name=found.name,
        description=found.description,
        body=found.body,
        triggers=list(found.triggers),
        capabilities=list(found.capabilities),
        examples=list(found.examples),
    )
