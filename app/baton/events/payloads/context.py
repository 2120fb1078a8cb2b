"""Payloads about what is put into prompts: enrichment, learned patterns, and whether they were used; and compliance."""

from typing import Annotated, Literal

import msgspec

from baton.events.payloads.base import Count, Milliseconds, Payload, Ratio


class ContextEnrichment(Payload, frozen=True, kw_only=True):
    """What one enrichment handler gave for one prompt; `latency_ms` has three digits after the point."""

    enrichment_type: str
    model_used: str = ""
    latency_ms: Milliseconds = 0.0
    result_token_count: Count = 0
    relevance_score: Ratio = 0.0
    fallback_used: bool = False
    tokens_saved: Count = 0
    was_dropped: bool = False
    prompt_version: str = ""


class ContextRetrievalRequested(Payload, frozen=True, kw_only=True):
    """Learned patterns are looked for."""

    context_source: str = ""
    agent_domain: str = ""
    min_confidence_threshold: Ratio = 0.0


class ContextRetrievalCompleted(Payload, frozen=True, kw_only=True):
    """Learned patterns were looked for."""

    context_source: str = ""
    pattern_count: Count = 0
    agent_domain: str = ""
    min_confidence_threshold: Ratio = 0.0
    retrieval_duration_ms: Milliseconds = 0.0


class ContextInjected(Payload, frozen=True, kw_only=True):
    """Learned patterns were put into a prompt or the start of a session."""

    context_source: str = ""
    pattern_count: Count = 0
    context_size_bytes: Count = 0
    agent_domain: str = ""
    min_confidence_threshold: Ratio = 0.0
    retrieval_duration_ms: Milliseconds = 0.0


class InjectionRecorded(Payload, frozen=True, kw_only=True):
    """Which patterns were injected, so that their use can be measured."""

    injection_id: str
    context_source: str = ""
    pattern_ids: tuple[str, ...] = ()
    injected_count: Count = 0


class ContextUtilization(Payload, frozen=True, kw_only=True):
    """How much of what was injected the agent used."""

    injection_id: str = ""
    method: Literal["identifier_overlap", "timeout_fallback", "error_fallback"]
    injected_count: Count = 0
    reused_count: Count = 0
    utilization_score: Ratio = 0.0


class ApplicablePattern(msgspec.Struct, frozen=True, kw_only=True):
    """A validated pattern that content is evaluated against."""

    pattern_id: str
    pattern_signature: str
    domain_id: str = ""
    confidence: Ratio


class ComplianceEvaluate(Payload, frozen=True, kw_only=True):
    """A request to evaluate what an agent wrote: at most 32,768 bytes of content against at most 10 patterns."""

    source_path: str
    content: str
    language: str = ""
    applicable_patterns: Annotated[tuple[ApplicablePattern, ...], msgspec.Meta(max_length=10)]


class ComplianceViolation(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern that was evaluated."""

    violated: bool
    pattern_id: str
    pattern_signature: str = ""
    domain_id: str = ""
    confidence: Ratio
    message: str = ""


class ComplianceEvaluated(Payload, frozen=True, kw_only=True):
    """The result of an evaluation, with the request's `correlation_id`."""

    violations: tuple[ComplianceViolation, ...]
