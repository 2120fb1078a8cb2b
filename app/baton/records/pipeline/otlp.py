"""Decisions, routes and jobs as spans and log events of OpenTelemetry, with the names of its GenAI conventions.

Only the storing process imports it, and only with a configured collector: the SDK is an extra.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from baton.kernel.base import trace
from baton.records.pipeline.telemetry import EndedAttempt, TelemetryOrder, Traced
from baton.rules.call.record import Record
from baton.shared.providers import known_agent

TIMEOUT_S = 5.0
"""Longest time that sending takes, with the exporter's own attempts, in seconds."""
_SCOPE = InstrumentationScope("baton")


class Otlp:
    """Sends spans and log events over HTTP, as protocol buffers."""

    def __init__(self, order: TelemetryOrder) -> None:
        # Failures of an unavailable collector are counted; a log line for each attempt would only be noise.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        base = order.endpoint.rstrip("/")
        headers = order.headers
        self._spans = OTLPSpanExporter(
            endpoint=f"{base}/v1/traces", headers=headers, timeout=TIMEOUT_S, compression=Compression.Gzip
        )
        self._logs = OTLPLogExporter(
            endpoint=f"{base}/v1/logs", headers=headers, timeout=TIMEOUT_S, compression=Compression.Gzip
        )
        self._resource = Resource({"service.name": "baton", "service.version": version("baton")})

    def __call__(self, traced: Sequence[Traced]) -> bool:
        """Send a span and a log event for each; return whether the collector took all. It blocks."""
        spans = [span for one in traced if (span := span_of(one, self._resource)) is not None]
        if not spans:
            return True
        if self._spans.export(spans) is not SpanExportResult.SUCCESS:
            return False
        return self._logs.export([_log_of(span) for span in spans]) is LogRecordExportResult.SUCCESS


def span_of(one: Traced, resource: Resource) -> ReadableSpan | None:
    """Return the span of a decision, a route or a job; None if the client's trace is not sampled.

    Its ids are derived from its subject, so sending it twice makes no second span.
    """
    parent = trace.parts(one.traceparent)
    if parent is not None and not parent[2]:
        return None
    # Without a trace of the client, the session's trace is the parent.
    trace_id = parent[0] if parent else trace.trace_id(one.organisation, one.user, one.session_id or one.id)
    name, span_id, began, ended, attributes = _of_job(one) if isinstance(one, EndedAttempt) else _of_record(one)
    failed = isinstance(one, EndedAttempt) and one.state == "failed"
    return ReadableSpan(
        name=name,
        context=_context(trace_id, span_id),
        parent=_context(parent[0], parent[1], is_remote=True) if parent else None,
        resource=resource,
        attributes={key: value for key, value in attributes.items() if value not in ("", None, [])},
        kind=SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR) if failed else Status(),
        start_time=_ns(began),
        end_time=_ns(ended),
        instrumentation_scope=_SCOPE,
    )


def _of_record(one: Record) -> tuple[str, int, datetime, datetime, dict[str, Any]]:
    attributes: dict[str, Any] = {
        "gen_ai.conversation.id": one.session_id,
        "user.name": one.user,
        "baton.decision.id": one.id,
        "baton.organisation": one.organisation,
        "baton.team": one.team,
        "baton.project": one.project,
        "baton.client": one.client,
        "baton.degraded": list(one.degraded),
    }
    began = one.at - timedelta(microseconds=one.elapsed_us)
    if one.event != "PreToolUse":
        attributes |= {
            "gen_ai.agent.name": one.routed_to,
            "baton.route.tier": one.routed_by,
            "baton.route.confidence": one.confidence,
        }
        return "baton.route", trace.span_id("route", one.id), began, one.at, attributes
    attributes |= {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": one.tool,
        "gen_ai.tool.call.id": one.tool_use_id,
        "gen_ai.agent.id": one.agent_id,
        "gen_ai.agent.name": one.agent_type,
        "baton.decision": one.decision,
        "baton.effect": one.effect,
        "baton.rules": [hit.id for hit in one.rules],
        "baton.mode": one.mode_level if one.mode_enabled else "off",
        "baton.policies.revision": one.revision,
        "baton.started_agent": one.started_agent,
    }
    return f"execute_tool {one.tool}", trace.span_id("decision", one.id), began, one.at, attributes


def _of_job(one: EndedAttempt) -> tuple[str, int, datetime, datetime, dict[str, Any]]:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": known_agent(one.provider).system or one.provider,
        "gen_ai.agent.name": one.agent_type or one.provider,
        "gen_ai.conversation.id": one.session_id,
        "gen_ai.request.model": one.model,
        "gen_ai.usage.input_tokens": one.input_tokens,
        "gen_ai.usage.cache_read.input_tokens": one.cached_tokens,
        "gen_ai.usage.output_tokens": one.output_tokens,
        "error.type": one.error_code,
        "user.name": one.user,
        "baton.organisation": one.organisation,
        "baton.team": one.team,
        "baton.project": one.project,
        "baton.job.id": one.id,
        "baton.job.attempt": one.attempt,
        "baton.job.state": one.state,
        "baton.job.cost_usd": one.cost_usd,
    }
    name = f"invoke_agent {one.agent_type or one.provider}"
    return name, trace.span_id("job", one.id, str(one.attempt)), one.began_at, one.ended_at, attributes


def _log_of(span: ReadableSpan) -> ReadableLogRecord:
    """Return the log event of a span: the same words, at the span's end."""
    attributes = span.attributes or {}
    job, effect = attributes.get("baton.job.state"), attributes.get("baton.effect")
    name = "baton.job" if job else "baton.decision" if effect else "baton.route"
    is_bad = effect == "deny" or job == "failed"
    record = LogRecord(
        timestamp=span.end_time,
        observed_timestamp=span.end_time,
        context=set_span_in_context(NonRecordingSpan(span.context)),
        severity_number=SeverityNumber.WARN if is_bad else SeverityNumber.INFO,
        severity_text="WARN" if is_bad else "INFO",
        body=f"{span.name}: {job or effect or attributes.get('gen_ai.agent.name', 'no agent')}",
        attributes=attributes,
        event_name=name,
    )
    return ReadableLogRecord(record, span.resource, _SCOPE)


def _context(trace_id: int, span_id: int, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote, TraceFlags(TraceFlags.SAMPLED))


def _ns(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
