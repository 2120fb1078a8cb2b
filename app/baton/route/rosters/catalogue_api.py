"""`/routing/rosters`: the rosters for routing your prompts, by their names in routing."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query

from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT
from baton.people.callers import CallerOf
from baton.route.rosters.agents import LONGEST_NAME
from baton.route.rosters.bodies import AgentDefinitionModel, ListedAgents, ShownAgents, ShownRoster
from baton.route.rosters.catalogue import Catalogue

router = APIRouter(tags=["routing"])
CatalogueOf = Annotated[Catalogue, Depends(of(Catalogue))]
Name = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME)]
Project = Annotated[str, Query(max_length=1_024), PROJECT]


@router.get("/routing/rosters", response_model_exclude_none=True)
async def list_routing_rosters(caller: CallerOf, catalogue: CatalogueOf, project: Project = "") -> list[ShownRoster]:
    """List the rosters available to your prompts: pushed ones, then the policies' agents tables."""
    return await catalogue.find_all(caller.principal, project or caller.project)


@router.get("/routing/rosters/{name}", response_model_exclude_none=True)
async def get_routing_roster(
    caller: CallerOf, catalogue: CatalogueOf, name: Name, project: Project = ""
) -> ShownAgents:
    """Show the agents of the roster found by a name: your team's, the organisation's, the policies'."""
    roster, agents = await catalogue.show(caller.principal, project or caller.project, name)
    return ListedAgents(**msgspec.structs.asdict(roster), rows=list(agents))


# An agent's name may hold slashes (`market/eggs`), hence `:path`.
@router.get("/routing/rosters/{name}/agents/{agent:path}")
async def get_routing_agent(
    caller: CallerOf,
    catalogue: CatalogueOf,
    name: Name,
    agent: Annotated[str, Path(min_length=1, max_length=LONGEST_NAME)],
    project: Project = "",
) -> AgentDefinitionModel:
    """Show an agent's whole definition."""
    roster, found = await catalogue.agent(caller.principal, project or caller.project, name, agent)
    return AgentDefinitionModel(roster=name, source=roster.source, **msgspec.structs.asdict(found))
