"""What the rest of the system hears of a routed prompt."""

from msgspec import UNSET

from baton.engine.call.principal import Principal
from baton.events.emitting.emission import Emitter
from baton.events.payloads.base import Ids
from baton.events.payloads.routing import (
    AgentMatch,
    LatencyBreakdown,
    LlmRoutingDecision,
    LlmRoutingFallback,
    RoutingCandidate,
    RoutingDecision,
)
from baton.events.payloads.tools import TaskDelegated
from baton.route.pipeline.stage import LocalAttempt, ModelAttempt, Route

PROMPT_VERSION = "1"
"""Of what the model is asked in `engine.routing.model_choice`; raise it with the words there."""


def emit_route(events: Emitter, principal: Principal, session_id: str, route: Route, total_ms: float) -> None:
    """Emit how a prompt was routed, how long that took, and what the models were asked."""
    ids = Ids(session_id=session_id, correlation_id=route.id)
    if not route.passed:
        decided = RoutingDecision(
            **ids,
            route_id=route.id,
            selected_agent=route.selected_agent,
            confidence=route.confidence,
            method=route.tier,
            candidates=tuple(RoutingCandidate(agent=one.name, score=one.score) for one in route.candidates),
            latency_ms=route.timings_ms.get("select", 0.0),
            degraded=tuple(route.degraded),
        )
        events.emit(principal, decided)
    if route.selected_agent:
        match = AgentMatch(
            **ids, selected_agent=route.selected_agent, agent_match_score=route.confidence, method=route.tier
        )
        events.emit(principal, match)
    if route.model_attempt is not None:
        _emit_model(events, principal, ids, route, route.model_attempt)
    if route.local_attempt is not None:
        _emit_local(events, principal, ids, route.local_attempt)
    total = round(total_ms, 3)  # less than the sum of the stages, of which some run at the same time
    timings = route.timings_ms
    breakdown = LatencyBreakdown(
        **ids,
        routing_time_ms=timings.get("select", 0.0),
        retrieval_time_ms=round(timings.get("patterns", 0.0) + timings.get("enrich", 0.0), 3),
        injection_time_ms=round(timings.get("advisories", 0.0) + timings.get("assemble", 0.0), 3),
        total_hook_ms=total,
        user_visible_latency_ms=total,
    )
    events.emit(principal, breakdown)


def _emit_model(events: Emitter, principal: Principal, ids: Ids, route: Route, attempt: ModelAttempt) -> None:
    best = route.candidates[0].name if route.candidates else ""
    if attempt.failure:
        fallback = LlmRoutingFallback(
            **ids,
            reason=attempt.failure,
            llm_latency_ms=attempt.latency_ms,
            model_used=attempt.model,
            fallback_agent=route.selected_agent,
        )
        events.emit(principal, fallback)
        return
    decided = LlmRoutingDecision(
        **ids,
        selected_agent=route.selected_agent,
        llm_confidence=UNSET if attempt.confidence is None else attempt.confidence,
        llm_latency_ms=attempt.latency_ms,
        model_used=attempt.model,
        fuzzy_top_candidate=best,
        llm_selected_candidate=attempt.agent,
        agreement=attempt.agent == best,
        routing_prompt_version=PROMPT_VERSION,
    )
    events.emit(principal, decided)


def _emit_local(events: Emitter, principal: Principal, ids: Ids, attempt: LocalAttempt) -> None:
    delegated = TaskDelegated(
        **ids,
        task_type=attempt.intent,
        handler_used="local-model",
        model_used=attempt.model,
        quality_gate_passed=attempt.passed,
        quality_gate_reason=attempt.reason,
        delegation_success=attempt.passed,
        estimated_savings_usd=attempt.savings,
        latency_ms=attempt.latency_ms,
        confidence=attempt.confidence,
    )
    events.emit(principal, delegated)
