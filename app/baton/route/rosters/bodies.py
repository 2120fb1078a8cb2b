"""The HTTP models of rosters."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from baton.lib.router.agents import Agent
from baton.route.rosters.agents import LONGEST_NAME, MOST_AGENTS
from baton.route.rosters.catalogue import RoutingRoster
from baton.route.rosters.roster import PushedRoster, Source, Tier

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

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "description": "the agents of the shop",
                    "agents": [
                        {
                            "name": "test-fixer",
                            "description": "Finds out why a test fails, and repairs it",
                            "triggers": ["failing test", "/flaky/"],
                            "capabilities": ["debugging"],
                            "examples": ["The login test fails since yesterday"],
                        }
                    ],
                    "reason": "first version",
                }
            ]
        },
    )

    description: str = Field("", max_length=4_000)
    agents: list[AgentBody] = Field(default=[], max_length=MOST_AGENTS)
    files: dict[FilePath, str] = Field(default={}, max_length=MOST_AGENTS)
    reason: str = Field("", max_length=1_000)


class PushedRosterModel(BaseModel):
    """A version of a pushed roster; `agents` is their number."""

    name: str
    tier: Tier
    team: str | None = None
    version: int
    description: str
    agents: int
    created_at: datetime
    created_by: str
    reason: str

    @classmethod
    def build(cls, one: PushedRoster) -> "PushedRosterModel":
        """Show a stored version as the API does."""
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


class RoutingRosterModel(BaseModel):
    """A roster for routing prompts. `source` is a push, with its owner, or an agents table."""

    name: str
    description: str
    source: Source
    version: int | None = Field(None, description="The version of a roster that was pushed.")
    agents: int

    @classmethod
    def build(cls, one: RoutingRoster) -> "RoutingRosterModel":
        """Show a roster as the API does."""
        return cls(
            name=one.name, description=one.description, source=one.source, version=one.version or None, agents=one.size
        )


class RoutingAgentModel(BaseModel):
    """An agent of a roster, without its body."""

    name: str
    description: str
    triggers: list[str]


class RoutingRosterAgentsModel(RoutingRosterModel):
    """A roster for routing prompts, with a row for each of its agents."""

    rows: list[RoutingAgentModel]


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
