"""How records and outcome reports are written into SQL: the statements, and the values of a row for each database."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.record import Record
from baton.kernel.base.driver import Dialect, Rows

LARGEST_BATCH = 200
"""Records per transaction; more would keep other writers waiting."""
LONGEST_CALL = timedelta(days=1)
"""How old the decision may be that a report belongs to."""
_COLUMNS = Record.__struct_fields__
_RULE_COLUMNS = ("rule", "decision_id", "effect")
_JSON = frozenset({"rules", "degraded", "paths"})


def statements(
    dialect: Dialect, records: Sequence[Record], reports: Sequence[OutcomeReport] = ()
) -> list[tuple[str, Rows]]:
    """Return what stores at most 200 records and reports; a record that is stored already stays as it is.

    The reports come last: their decisions may be in the same batch.

    Raises:
        ValueError: If there are more, or if a moment has no timezone.
    """
    if len(records) + len(reports) > LARGEST_BATCH:
        raise ValueError(f"{len(records) + len(reports)} records in one batch; at most {LARGEST_BATCH}")
    found: list[tuple[str, Rows]] = []
    if records:
        rows = [tuple([_value(dialect, name, getattr(record, name)) for name in _COLUMNS]) for record in records]
        found.append((_INSERTS[dialect, "decisions"], rows))
    if rules := [(hit.id, record.id, hit.effect) for record in records for hit in record.rules]:
        found.append((_INSERTS[dialect, "decision_rules"], rules))
    # In the order in which they came: the end of a turn concerns only what was reported before it.
    for report in reports:
        if report.tool:
            found.append((_CALL_ENDED[dialect], [_call_ended(dialect, report)]))
        else:
            found.append((_TURN_ENDED[dialect], [_turn_ended(dialect, report)]))
    return found


def _insert(dialect: Dialect, table: str, columns: Sequence[str]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    marks = ", ".join("?" if dialect == "sqlite" else f"${number}" for number in range(1, len(columns) + 1))
    # The stream hands an entry out at least once, so the same record may come again.
    return f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608 - names of ours


_DIALECTS: tuple[Dialect, ...] = ("sqlite", "postgresql")
_INSERTS = {
    (dialect, table): _insert(dialect, table, columns)
    for dialect in _DIALECTS
    for table, columns in (("decisions", _COLUMNS), ("decision_rules", _RULE_COLUMNS))
}

# A decision's id begins with its moment, so `id >= ...` keeps the search within the last day of the session's calls.
# A client without call ids may have an equal call that was refused at the same time: that one did not run.
_CALL_ENDED_TEXT = """
UPDATE decisions SET
  outcome = CASE WHEN {outcome} IN ('ran', 'failed') AND (effect = 'deny' OR (effect = 'ask' AND NOT {can_ask}))
    THEN 'ran_anyway' ELSE {outcome} END,
  duration_ms = COALESCE({duration_ms}, {elapsed}),
  model_used = {model}, input_tokens = {input}, cached_tokens = {cached}, output_tokens = {output}
WHERE id = (SELECT id FROM decisions
  WHERE organisation = {organisation} AND session_id = {session_id} AND id >= {oldest} AND "user" = {user}
    AND agent_id = {agent_id} AND tool = {tool} AND tool_use_id = {tool_use_id} AND event = 'PreToolUse'
    AND (tool_use_id <> '' OR effect <> 'deny')
  ORDER BY id DESC LIMIT 1)
"""
_TURN_ENDED_TEXT = """
UPDATE decisions SET outcome = 'refused'
WHERE organisation = {organisation} AND session_id = {session_id} AND id >= {oldest} AND "user" = {user}
  AND agent_id = {agent_id} AND event = 'PreToolUse' AND effect = 'ask' AND outcome = 'unknown' AND at <= {at}
"""
_ELAPSED: dict[Dialect, str] = {
    "sqlite": "CAST(ROUND((julianday({at}) - julianday(at)) * 86400000) AS INTEGER)",
    "postgresql": "LEAST(2147483647, ROUND(EXTRACT(EPOCH FROM {at} - at) * 1000))::integer",
}
_TYPES = {
    "can_ask": "boolean", "duration_ms": "integer", "at": "timestamptz", "input": "integer", "cached": "integer",
    "output": "integer",
}  # fmt: skip
_CALL_FIELDS = (
    "outcome", "can_ask", "duration_ms", "at", "model", "input", "cached", "output",
    "organisation", "session_id", "oldest", "user", "agent_id", "tool", "tool_use_id",
)  # fmt: skip
_TURN_FIELDS = ("organisation", "session_id", "oldest", "user", "agent_id", "at")


def _numbered(dialect: Dialect, text: str, fields: Sequence[str]) -> str:
    """Return a statement with a numbered mark for each field, so that a value may stand in several places."""
    marks = {
        name: f"?{number}" if dialect == "sqlite" else f"${number}::{_TYPES.get(name, 'text')}"
        for number, name in enumerate(fields, 1)
    }
    return text.replace("{elapsed}", _ELAPSED[dialect]).format(**marks)


_CALL_ENDED = {dialect: _numbered(dialect, _CALL_ENDED_TEXT, _CALL_FIELDS) for dialect in _DIALECTS}
_TURN_ENDED = {dialect: _numbered(dialect, _TURN_ENDED_TEXT, _TURN_FIELDS) for dialect in _DIALECTS}


def _call_ended(dialect: Dialect, report: OutcomeReport) -> tuple[Any, ...]:
    used = report.usage
    whose = (report.organisation, report.session_id, _oldest(report), report.user, report.agent_id)
    return (
        report.outcome,
        report.can_ask,
        report.duration_ms,
        _value(dialect, "at", report.at),
        used.model,
        used.input_tokens,
        used.cached_tokens,
        used.output_tokens,
        *whose,
        report.tool,
        report.tool_use_id,
    )


def _turn_ended(dialect: Dialect, report: OutcomeReport) -> tuple[Any, ...]:
    at = _value(dialect, "at", report.at)
    return (report.organisation, report.session_id, _oldest(report), report.user, report.agent_id, at)


def _oldest(report: OutcomeReport) -> str:
    """Return the least UUIDv7 of the moment before which no decision can belong to the report."""
    moment = f"{int((report.at - LONGEST_CALL).timestamp() * 1000):012x}"
    return f"{moment[:8]}-{moment[8:]}-7000-8000-000000000000"


def _value(dialect: Dialect, name: str, value: Any) -> Any:
    if name in _JSON:
        return msgspec.json.encode(value).decode()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a moment without a timezone")
        # As SQLAlchemy writes moments into SQLite, which compares them as texts.
        value = value.astimezone(UTC)
        return value if dialect != "sqlite" else value.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
    return value
