"""The interface of a routing stage, and the data it reads and fills."""

from typing import Literal, Protocol

import msgspec

from baton.lib.router.agents import Candidate, Tier
from baton.route.prompt import Prompt


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the prompt asks for automated work of several steps or agents, and the decisive word."""

    detected: bool = False
    type: str = ""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the context, whole or absent.

    The highest `priority` comes first, and the lowest is dropped first if there is no room for all. `source` names the
    stage or the handler.
    """

    source: str
    heading: str
    text: str
    priority: int


class LocalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A local model's answer in the agent's place. `savings` is in US dollars, `text` is ready to show."""

    model: str
    intent: str
    confidence: float
    savings: float
    reason: str
    text: str
    bypass: bool = False  # whether the answer itself goes to the person, and the agent is not asked


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A node's or a model's choice among the candidates; `agent` is "" for none of them."""

    agent: str
    model: str = ""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """One of several requests in a prompt, its agent, and the confidence in it."""

    text: str
    agent: str
    confidence: float


class Chooser(Protocol):
    """Chooses one of the scorer's candidates, or none of them."""

    async def choose(self, prompt: Prompt, candidates: tuple[Candidate, ...]) -> Choice | None:
        """Choose. Return None without an answer: off, unavailable, too slow or senseless. Never raise."""
        ...


class Route(msgspec.Struct, kw_only=True):
    """The answer, filled by the stages. Each writes its own part once it is complete.

    `passed` says why the prompt is not routed at all (a slash command, a machine's own prompt), "" if it is.
    `degraded` names what was absent, `timings_ms` is in milliseconds by the stage's name.
    """

    id: str
    passed: str = ""
    selected_agent: str = ""
    reason: str = ""
    confidence: float = 0.0
    candidates: tuple[Candidate, ...] = ()
    tier: Tier = "none"
    intents: tuple[Intent, ...] = ()
    workflow: Workflow = Workflow()
    sections: list[Section] = []
    local_answer: LocalAnswer | None = None
    additional_context: str = ""
    timings_ms: dict[str, float] = {}
    degraded: list[str] = []


StageName = Literal["detect", "enrich", "select", "patterns", "advisories", "delegate", "assemble"]


class Stage(Protocol):
    """One step. A stage must leave the route unchanged if it is cancelled at its deadline, or raises."""

    name: StageName
    budget_s: float  # longest that it may take, in seconds

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Fill this stage's part of the route."""
        ...
