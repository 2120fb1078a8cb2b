"""Events of decisions and their outcomes, made of the records that go to SQL: emitting them costs the server nothing.

A record was masked when it left its server, and all of its texts are storable.
"""

import msgspec
from msgspec import UNSET

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.record import Record
from baton.events.emitting.emission import call_id, natural_id
from baton.events.payloads.base import Payload
from baton.events.payloads.tools import DecisionMade, MatchedRule, OutcomeReported
from baton.events.redis_streams.outbox import Emission
from baton.events.topics import BY_PAYLOAD

_encode = msgspec.json.Encoder().encode


def of_record(record: Record) -> Emission | None:
    """Return the event of a decision; None for a record that is no decision on a call."""
    if record.event != "PreToolUse":
        return None
    payload = DecisionMade(
        session_id=record.session_id,
        correlation_id=call_id(record.organisation, record.user, record.session_id, record.tool_use_id) or record.id,
        decision_id=record.id,
        tool_name=record.tool,
        tool_execution_id=record.tool_use_id,
        agent_id=record.agent_id,
        agent_type=record.agent_type,
        client=record.client,
        project=record.project,
        decision=record.decision,
        effect=record.effect,
        rules=tuple(MatchedRule(id=hit.id, effect=hit.effect) for hit in record.rules),
        mode_enabled=record.mode_enabled,
        mode_level=record.mode_level,
        policy_revision=record.revision,
        model_injected=record.model_injected,
        overridden=record.overridden,
        degraded=record.degraded,
        elapsed_us=record.elapsed_us,
    )
    return _emission(record, record.team, payload, record.id)


def of_report(report: OutcomeReport) -> Emission | None:
    """Return the event of an outcome; None for the end of a turn, which is no call's."""
    if not report.tool:
        return None
    # Without a call id, two reports are two calls: the moment tells them apart, and a report that is delivered twice has one.
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
