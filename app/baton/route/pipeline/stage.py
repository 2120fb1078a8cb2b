"""What a stage of routing reads and fills, and what every stage is."""

from typing import Literal, Protocol

import msgspec

from baton.engine.routing.candidates import Candidate, Tier
from baton.route.prompt import Prompt


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the prompt asks for automated work of several steps or agents, and the word that says so."""

    detected: bool = False
    type: str = ""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the context, whole or absent.

    The highest `priority` comes first, and the lowest is dropped first if there is no room for all. `source` names what
    the section came from, by which its worth is measured.
    """

    source: str
    heading: str
    text: str
    priority: int


class LocalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a local model answered in the agent's place. `savings` is in US dollars, `text` is ready to be shown."""

    model: str
    intent: str
    confidence: float
    savings: float
    reason: str
    text: str
    bypass: bool = False
    """Whether the answer itself goes to the person, and the agent is not asked."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a node or a model chose among the candidates; `agent` is "" for none of them.

    `confidence` is how sure it says it is, from 0 to 1, or None if it does not say.
    """

    agent: str
    confidence: float | None = None
    model: str = ""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """One of several things that a prompt asks for, the agent that it is for, and the confidence in that."""

    text: str
    agent: str
    confidence: float


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """What the scorer saw, the best agents first: a fit needs it if somebody says what would have been right.

    A row has an agent's features, then the two numbers of the ranking's extent.
    """

    agents: list[str]
    features: list[list[float]]


class ModelAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """How the model was asked to choose an agent; `failure` says why its answer did not count, "" where it did."""

    latency_ms: float
    agent: str = ""
    confidence: float | None = None
    model: str = ""
    failure: str = ""


class LocalAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """How a local model was asked to answer a prompt, and whether its answer passed the quality gate."""

    intent: str
    model: str
    confidence: float
    latency_ms: float
    passed: bool
    reason: str
    savings: float = 0.0


class Chooser(Protocol):
    """Chooses one of the scorer's candidates, or none of them."""

    async def choose(self, prompt: Prompt, candidates: tuple[Candidate, ...]) -> Choice | None:
        """Choose. Return None if it has nothing to say: it is off, away, too slow or makes no sense. Never raise."""
        ...


class Route(msgspec.Struct, kw_only=True):
    """The answer as the stages fill it; each writes its own part, once that is whole.

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
    model_attempt: ModelAttempt | None = None
    local_answer: LocalAnswer | None = None
    local_attempt: LocalAttempt | None = None
    additional_context: str = ""
    injected: dict[str, str] = {}
    """What of the sections there was room for: texts by source."""
    timings_ms: dict[str, float] = {}
    degraded: list[str] = []
    trace: Trace | None = None


StageName = Literal["detect", "enrich", "select", "patterns", "advisories", "delegate", "assemble"]


class Stage(Protocol):
    """One step. A stage that is cancelled at its deadline, or raises, must leave the route as it found it."""

    name: StageName
    budget_s: float
    """Longest that it may take, in seconds."""

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Fill this stage's part of the route."""
        ...
