"""Writes records and outcome reports into SQL: the statements, and a row's values for each database.

Totals are written in the same transaction, and only for new decisions: the stream delivers an entry at least once. The columns of an hour are written later, and a change to a written hour marks it.
"""

import time
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from baton.kernel.base.driver import Dialect, Rows, Statements, Writes
from baton.records.columns.hours import marks_of_stale
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import FIELDS, Record
from baton.shared.record_ids import least_id

LARGEST_BATCH = 200
"""Records per transaction; more would keep other writers waiting."""
LONGEST_CALL = timedelta(days=1)
"""How old the decision may be that a report belongs to."""
_COLUMNS = Record.__struct_fields__
_JSON = frozenset(field.name for field in FIELDS if field.kind is tuple)
_CONVERTED = [index for index, name in enumerate(_COLUMNS) if name == "at" or name in _JSON]
"""The columns whose values are not stored as the record has them."""
_POSTGRES = {str: "text", tuple: "text", bool: "boolean", int: "integer", float: "float8", datetime: "timestamptz"}
"""Postgres's types of the values that are stored."""


def writes(dialect: Dialect, records: Sequence[Record], reports: Sequence[OutcomeReport] = ()) -> Writes:
    """Return the statements to store at most 200 records and reports. Of a stored record only `repeats` may grow.

    The reports come last: their decisions may be in the same batch.

    Raises:
        ValueError: If there are more, or if a timestamp has no timezone.
    """
    if len(records) + len(reports) > LARGEST_BATCH:
        raise ValueError(f"{len(records) + len(reports)} records in one batch; at most {LARGEST_BATCH}")
    firsts = {record.id for record in records if not record.repeats}
    # Once each: a batch may hold the same record twice.
    records = list({record.id: record for record in sorted(records, key=lambda one: one.repeats)}.values())
    rows = [_row(dialect, record) for record in records]
    ends = [_ended(dialect, report) for report in reports]

    def beside(new: Collection[str]) -> Statements:
        return _totals(dialect, [(one, one.repeats + (one.id in firsts)) for one in records if one.id in new])

    def after(new: Collection[str], ended: Sequence[Rows]) -> Statements:
        changed = {(record.organisation, record.id) for record in records if record.id in new}
        return marks_of_stale(dialect, changed.union(*ended), time.time())

    return Writes(_INSERT_DECISIONS[dialect], rows, beside, ends, after)


def _totals(dialect: Dialect, records: Sequence[tuple[Record, int]]) -> Statements:
    counted: Counter[tuple[str, ...]] = Counter()
    for one, count in records:
        if one.event == "PreToolUse":
            counted[one.organisation, one.user, one.team, one.effect] += count
    # In one order everywhere, or two servers counting the same keys would deadlock.
    rows = [(*key, count) for key, count in sorted(counted.items())]
    return [(_COUNT[dialect], rows)] if rows else []


def _ended(dialect: Dialect, report: OutcomeReport) -> tuple[str, Rows]:
    if report.tool:
        return _CALL_ENDED[dialect], [_call_ended(dialect, report)]
    return _TURN_ENDED[dialect], [_turn_ended(dialect, report)]


def _marks(dialect: Dialect, count: int) -> str:
    return ", ".join("?" if dialect == "sqlite" else f"${number}" for number in range(1, count + 1))


def _insert_decisions(dialect: Dialect) -> str:
    """Return the statement to store decisions: in SQLite for one row, in Postgres for columns of many rows.

    Postgres takes a batch as one statement. It is faster than a statement per row and returns the new rows.
    """
    names = ", ".join(f'"{column}"' for column in _COLUMNS)
    repeated = (
        " ON CONFLICT (organisation, id) DO UPDATE SET repeats = excluded.repeats"
        " WHERE excluded.repeats > decisions.repeats"
    )
    if dialect == "sqlite":
        return f"INSERT INTO decisions ({names}) VALUES ({_marks(dialect, len(_COLUMNS))}){repeated}"  # noqa: S608 - names of ours
    arrays = ", ".join(f"${number}::{_POSTGRES[field.kind]}[]" for number, field in enumerate(FIELDS, 1))
    values = ", ".join(f'"{column}"' + ("::json" if column in _JSON else "") for column in _COLUMNS)
    return (
        f"INSERT INTO decisions ({names}) SELECT {values} FROM unnest({arrays}) AS new({names})"  # noqa: S608
        f"{repeated} RETURNING id"
    )


_DIALECTS: tuple[Dialect, ...] = ("sqlite", "postgresql")
_INSERT_DECISIONS = {dialect: _insert_decisions(dialect) for dialect in _DIALECTS}
_COUNT = {
    dialect: f'INSERT INTO decision_totals (organisation, "user", team, effect, decisions) VALUES ({_marks(dialect, 5)})'  # noqa: S608
    ' ON CONFLICT (organisation, "user", team, effect)'
    " DO UPDATE SET decisions = decision_totals.decisions + excluded.decisions"
    for dialect in _DIALECTS
}

# A decision's id begins with its moment, so `id >= ...` keeps the search within the last day of the session's calls.
# A client without call ids may have an equal call, refused at the same time: that one did not run.
_CALL_ENDED_TEXT = """
UPDATE decisions SET
  outcome = CASE WHEN {outcome} IN ('ran', 'failed') AND (effect = 'deny' OR (effect = 'ask' AND NOT {can_ask}))
    THEN 'ran_anyway' ELSE {outcome} END,
  duration_ms = COALESCE({duration_ms}, {elapsed}),
  model_used = {model}, input_tokens = {input}, cached_tokens = {cached}, output_tokens = {output}
WHERE organisation = {organisation} AND id = (SELECT id FROM decisions
  WHERE organisation = {organisation} AND session_id = {session_id} AND id >= {oldest} AND "user" = {user}
    AND agent_id = {agent_id} AND tool = {tool} AND tool_use_id = {tool_use_id} AND event = 'PreToolUse'
    AND (tool_use_id <> '' OR effect <> 'deny')
  ORDER BY id DESC LIMIT 1)
RETURNING organisation, id
"""
_TURN_ENDED_TEXT = """
UPDATE decisions SET outcome = 'refused'
WHERE organisation = {organisation} AND session_id = {session_id} AND id >= {oldest} AND "user" = {user}
  AND agent_id = {agent_id} AND event = 'PreToolUse' AND outcome = 'unknown' AND at <= {at}
  AND (effect = 'ask' OR ({reports_all} AND tool_use_id <> ''))
RETURNING organisation, id
"""
_ELAPSED: dict[Dialect, str] = {
    "sqlite": "CAST(ROUND((julianday({at}) - julianday(at)) * 86400000) AS INTEGER)",
    "postgresql": "LEAST(2147483647, ROUND(EXTRACT(EPOCH FROM {at} - at) * 1000))::integer",
}
_TYPES = {
    "can_ask": "boolean", "reports_all": "boolean", "duration_ms": "integer", "at": "timestamptz", "input": "integer", "cached": "integer",
    "output": "integer",
}  # fmt: skip
_CALL_FIELDS = (
    "outcome", "can_ask", "duration_ms", "at", "model", "input", "cached", "output",
    "organisation", "session_id", "oldest", "user", "agent_id", "tool", "tool_use_id",
)  # fmt: skip
_TURN_FIELDS = ("organisation", "session_id", "oldest", "user", "agent_id", "at", "reports_all")


def _numbered(dialect: Dialect, text: str, fields: Sequence[str]) -> str:
    """Return a statement with a numbered placeholder for each field, so that a value may be used repeatedly."""
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
    whose = (report.organisation, report.session_id, _oldest(report), report.user, report.agent_id)
    return (*whose, at, report.reports_all)


def _oldest(report: OutcomeReport) -> str:
    """Return the smallest id a decision of the report can have."""
    return least_id(report.at - LONGEST_CALL)


def _row(dialect: Dialect, record: Record) -> tuple[Any, ...]:
    row = list(msgspec.structs.astuple(record))
    for index in _CONVERTED:
        row[index] = _value(dialect, _COLUMNS[index], row[index])
    return tuple(row)


def _value(dialect: Dialect, name: str, value: Any) -> Any:
    if name in _JSON:
        return msgspec.json.encode(value).decode()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a moment without a timezone")
        # SQLAlchemy's format of timestamps in SQLite, compared as strings there.
        value = value.astimezone(UTC)
        return value if dialect != "sqlite" else value.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
    return value
