"""The HTTP models of `/route` and `/route/explain`."""

import msgspec
from msgspec import UNSET, UnsetType

from baton.engine.routing.candidates import Tier
from baton.route.pipeline.stage import Route


class CandidateView(msgspec.Struct, frozen=True, kw_only=True):
    """One of the five best. `score` is a probability from 0 to 1, `why` one line."""

    name: str
    score: float
    why: str


class IntentView(msgspec.Struct, frozen=True, kw_only=True):
    """One of several things that the prompt asks for: its text, and the agent that it is for."""

    text: str
    agent: str
    confidence: float


class WorkflowView(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the prompt asks for automated work of several steps or agents."""

    detected: bool
    type: str


class DelegationView(msgspec.Struct, frozen=True, kw_only=True):
    """What a local model answered in the agent's place; `savings` in US dollars."""

    model: str
    intent: str
    confidence: float
    savings: float
    reason: str
    text: str


class RouteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Where the prompt is led. Nothing is ever null."""

    id: str
    """What feedback is given on."""
    selected_agent: str
    """"" when no agent is a clear match, or when the prompt is not for routing; `reason` says which."""
    reason: str
    confidence: float
    """The first candidate's probability."""
    candidates: list[CandidateView]
    tier: Tier
    """What decided."""
    intents: list[IntentView]
    """The parts of a prompt that are for different agents; empty when it is for one, or for none."""
    workflow: WorkflowView
    additional_context: str
    delegated: bool
    delegation: DelegationView | UnsetType = UNSET
    timings_ms: dict[str, float]
    degraded: list[str]
    """What was absent or late."""

    @classmethod
    def of(cls, route: Route) -> "RouteAnswer":
        """Show a route as the API does."""
        answer = route.local_answer
        return cls(
            id=route.id,
            selected_agent=route.selected_agent,
            reason=route.reason,
            confidence=route.confidence,
            candidates=[CandidateView(name=one.name, score=one.score, why=one.why) for one in route.candidates],
            tier=route.tier,
            intents=[IntentView(text=one.text, agent=one.agent, confidence=one.confidence) for one in route.intents],
            workflow=WorkflowView(detected=route.workflow.detected, type=route.workflow.type),
            additional_context=route.additional_context,
            delegated=answer is not None,
            delegation=UNSET
            if answer is None
            else DelegationView(
                model=answer.model,
                intent=answer.intent,
                confidence=answer.confidence,
                savings=answer.savings,
                reason=answer.reason,
                text=answer.text,
            ),
            timings_ms=route.timings_ms,
            degraded=route.degraded,
        )


class ExplainedCandidate(CandidateView, frozen=True, kw_only=True):
    """An agent with everything that the scorer saw; `total` is the weighted sum of its features."""

    total: float
    features: dict[str, float]
    words: list[str]
    """Those of the prompt that spoke for it most."""


class RouteExplained(msgspec.Struct, frozen=True, kw_only=True):
    """The whole ranking."""

    candidates: list[ExplainedCandidate]
    weights: dict[str, float]
    threshold: float
    named: str
    """The agent that the prompt names, "" for none."""
    passed: str
    """Why the prompt would not be routed, "" when it would be."""
    workflow: WorkflowView
    degraded: list[str]
