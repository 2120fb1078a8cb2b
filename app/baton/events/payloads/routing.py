"""Payloads about routing: which agent a prompt is for."""

import msgspec
from msgspec import UNSET, UnsetType

from baton.events.payloads.base import Milliseconds, Payload, Ratio


class RoutingCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that was considered, with its score from 0 to 1."""

    agent: str
    score: float


class RoutingDecision(Payload, frozen=True, kw_only=True):
    """A prompt was routed. `selected_agent` is "" if no agent was chosen; `method` names the tier that decided."""

    route_id: str
    selected_agent: str = ""
    confidence: Ratio = 0.0
    method: str
    candidates: tuple[RoutingCandidate, ...] = ()
    latency_ms: Milliseconds = 0.0
    degraded: tuple[str, ...] = ()


class LlmRoutingDecision(Payload, frozen=True, kw_only=True):
    """A model was asked, and answered. `agreement` says whether it chose the scorer's first candidate."""

    selected_agent: str = ""
    llm_confidence: Ratio | UnsetType = UNSET
    llm_latency_ms: Milliseconds = 0.0
    fallback_used: bool = False
    model_used: str = ""
    fuzzy_top_candidate: str = ""
    llm_selected_candidate: str = ""
    agreement: bool = False
    routing_prompt_version: str = ""


class LlmRoutingFallback(Payload, frozen=True, kw_only=True):
    """A model should have been asked, but did not answer in time or at all: the scorer's word held."""

    reason: str
    llm_latency_ms: Milliseconds = 0.0
    model_used: str = ""
    fallback_agent: str = ""


class RoutingFeedback(Payload, frozen=True, kw_only=True):
    """Somebody said which agent a prompt should have gone to."""

    route_id: str
    selected_agent: str = ""
    right_agent: str = ""
    agreed: bool


class RoutingFeedbackSkipped(Payload, frozen=True, kw_only=True):
    """Feedback was sent that nothing can be learned from."""

    route_id: str
    skip_reason: str


class AgentMatch(Payload, frozen=True, kw_only=True):
    """How well the agent that was chosen for a prompt matches it."""

    selected_agent: str
    agent_match_score: Ratio
    method: str


class LatencyBreakdown(Payload, frozen=True, kw_only=True):
    """How long the parts of a prompt's hook took. `cohort` is the operator's word for a group of sessions in a trial."""

    routing_time_ms: Milliseconds = 0.0
    retrieval_time_ms: Milliseconds = 0.0
    injection_time_ms: Milliseconds = 0.0
    agent_load_time_ms: Milliseconds = 0.0
    total_hook_ms: Milliseconds = 0.0
    user_visible_latency_ms: Milliseconds = 0.0
    cache_hit: bool = False
    cohort: str = ""
