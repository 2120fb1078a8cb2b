"""The HTTP models of rosters."""

from typing import Annotated

import msgspec
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from baton.kernel.http.fields import ApiModel, request_body
from baton.lib.router.agents import Agent
from baton.route.rosters.agents import LONGEST_NAME, MOST_AGENTS
from baton.route.rosters.catalogue import RoutingRoster
from baton.route.rosters.roster import PushedRoster, Source

AgentName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
Line = Annotated[str, StringConstraints(max_length=4_000)]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class AgentBody(BaseModel):
    """An agent. `triggers` are required words of a prompt, or regular expressions between slashes."""

    model_config = ConfigDict(extra="ignore")

    name: AgentName
    description: str | None = Field(None, max_length=50_000)
    body: str | None = Field(None, max_length=400_000)
    triggers: list[Line] | None = Field(None, max_length=200)
    capabilities: list[Line] | None = Field(None, max_length=200)
    examples: list[Line] | None = Field(None, max_length=200)

    def agent(self) -> Agent:
        """Return the agent as routing reads it."""
        return msgspec.convert(self.model_dump(exclude_none=True), Agent)


class RosterBody(BaseModel):
    """A roster: its agents, or the texts of agents' files by path as they are."""

    model_config = request_body(
        {"description": "the agents of the shop", "agents": [{"name": "test-fixer",
        "description": "Finds out why a test fails, and repairs it", "triggers": ["failing test", "/flaky/"],
        "capabilities": ["debugging"], "examples": ["The login test fails since yesterday"]}],
        "reason": "first version"}
    )  # fmt: skip

    description: str = Field("", max_length=4_000)
    agents: list[AgentBody] = Field(default=[], max_length=MOST_AGENTS)
    files: dict[FilePath, str] = Field(default={}, max_length=MOST_AGENTS)
    reason: str = Field("", max_length=1_000)


_SIZE = Annotated[int, Field(validation_alias="size")]
ShownPush = Annotated[
    PushedRoster,
    ApiModel("PushedRosterModel", without=("owner", "digest", "size"), blank=("team",), team=str, agents=_SIZE),
]
ShownRoster = Annotated[RoutingRoster, ApiModel(without=("size",), blank=("version",), agents=_SIZE)]


class ListedAgents(RoutingRoster, frozen=True, kw_only=True):
    """A roster for routing prompts, with a row for each of its agents."""

    rows: list[Agent]


ShownAgent = Annotated[Agent, ApiModel("RoutingAgentModel", without=("body", "capabilities", "examples"))]
ShownAgents = Annotated[
    ListedAgents,
    ApiModel("RoutingRosterAgentsModel", without=("size",), blank=("version",), agents=_SIZE, rows=list[ShownAgent]),
]


class AgentDefinitionModel(BaseModel):
    """An agent's whole definition. `source` is its roster's owner."""

    roster: str
    source: Source
    name: str
    description: str
    body: str
    triggers: list[str]
    capabilities: list[str]
    examples: list[str]
