"""Render entries of the log as events, when somebody reads them. Entries are masked already."""

import msgspec
from msgspec import UNSET

from baton.events.emission import call_id, natural_id
from baton.events.log import Content, Emission
from baton.events.payloads import DECISION_FIELDS, DecisionMade, OutcomeReported, Payload
from baton.events.topics import BY_PAYLOAD
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record

_encode = msgspec.json.Encoder().encode


def topic_of(content: Content | None) -> str:
    """Return the topic of an entry's event, "" for an entry without one."""
    if isinstance(content, Record):
        return "decisions" if content.event == "PreToolUse" else ""
    if isinstance(content, OutcomeReport):
        return "outcomes" if content.tool else ""  # without a tool it is the end of a turn
    return "" if content is None else content.topic


def event_of(content: Content) -> Emission:
    """Return the event of a record, if it has a topic."""
    if isinstance(content, Record):
        return _of_record(content)
    return _of_report(content) if isinstance(content, OutcomeReport) else content


def _of_record(record: Record) -> Emission:
    payload = DecisionMade(
        session_id=record.session_id,
        correlation_id=call_id(record.organisation, record.user, record.session_id, record.tool_use_id) or record.id,
        **{name: getattr(record, field) for name, field in DECISION_FIELDS.items()},
    )
    return _emission(record, record.team, payload, record.id)


def _of_report(report: OutcomeReport) -> Emission:
    # Without a call id, the time distinguishes two calls.
    call = report.tool_use_id or report.at.isoformat()
    payload = OutcomeReported(
        session_id=report.session_id,
        correlation_id=call_id(report.organisation, report.user, report.session_id, report.tool_use_id),
        tool_name=report.tool,
        tool_execution_id=report.tool_use_id,
        agent_id=report.agent_id,
        outcome=report.outcome,
        duration_ms=UNSET if report.duration_ms is None else report.duration_ms,
        model_used=report.usage.model,
        input_tokens=report.usage.input_tokens,
        cached_tokens=report.usage.cached_tokens,
        output_tokens=report.usage.output_tokens,
    )
    natural = natural_id("outcome", report.user, report.session_id, report.agent_id, report.tool, call, report.outcome)
    return _emission(report, report.team, payload, natural)


def _emission(source: Record | OutcomeReport, team: str, payload: Payload, event_id: str) -> Emission:
    at_ms = int(source.at.timestamp() * 1000)
    topic = BY_PAYLOAD[type(payload)].name
    return Emission(topic, event_id, at_ms, source.organisation, team, source.user, _encode(payload))
