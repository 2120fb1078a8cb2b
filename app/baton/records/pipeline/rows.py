"""How records and outcome reports are written into SQL: the statements, and the values of a row for each database.

What is kept about decisions beside their rows (rule hits, totals) is written in the same transaction, and only for
those that were not stored before: the stream hands an entry out at least once. The columns of an hour are written
later, and what changes an hour that is written already marks it.
"""

import time
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.record import Record
from baton.kernel.base.driver import Dialect, Rows, Statements, Writes
from baton.kernel.base.uuid7 import least_id
from baton.records.pipeline.hours import marks_of_stale

LARGEST_BATCH = 200
"""Records per transaction; more would keep other writers waiting."""
LONGEST_CALL = timedelta(days=1)
"""How old the decision may be that a report belongs to."""
_COLUMNS = Record.__struct_fields__
_JSON = frozenset({"rules", "degraded", "paths"})
_CONVERTED = [index for index, name in enumerate(_COLUMNS) if name == "at" or name in _JSON]
"""The columns whose values are not stored as the record has them."""
_TYPES_OF_COLUMNS = {
    "at": "timestamptz", "mode_enabled": "boolean", "overridden": "boolean", "confidence": "float8",
    **dict.fromkeys(("elapsed_us", "duration_ms", "input_tokens", "cached_tokens", "output_tokens"), "integer"),
}  # fmt: skip
"""Postgres's types of the columns that are no texts."""


def writes(dialect: Dialect, records: Sequence[Record], reports: Sequence[OutcomeReport] = ()) -> Writes:
    """Return what stores at most 200 records and reports; a record that is stored already stays as it is.

    The reports come last: their decisions may be in the same batch.

    Raises:
        ValueError: If there are more, or if a moment has no timezone.
    """
    if len(records) + len(reports) > LARGEST_BATCH:
        raise ValueError(f"{len(records) + len(reports)} records in one batch; at most {LARGEST_BATCH}")
    rows = [_row(dialect, record) for record in records]
    ends = [_ended(dialect, report) for report in reports]

    def beside(new: Collection[str]) -> Statements:
        # By id: a batch may hold the same record twice.
        stored = list({record.id: record for record in records if record.id in new}.values())
        return [*_hits(dialect, stored), *_totals(dialect, stored)]

    def after(new: Collection[str], ended: Rows) -> Statements:
        changed = {(record.organisation, record.id) for record in records if record.id in new}
        return marks_of_stale(dialect, changed | set(ended), time.time())

    return Writes(_INSERT_DECISIONS[dialect], rows, beside, ends, after)


def _hits(dialect: Dialect, records: Sequence[Record]) -> Statements:
    rows = sorted({(hit.id, record.id): hit.effect for record in records for hit in record.rules}.items())
    return [(_INSERT_HIT[dialect], [(*key, effect) for key, effect in rows])] if rows else []


def _totals(dialect: Dialect, records: Sequence[Record]) -> Statements:
    counted = Counter(
        (one.organisation, one.user, one.team, one.effect) for one in records if one.event == "PreToolUse"
    )
    # In one order everywhere: two servers that count the same keys would otherwise wait for each other.
    rows = [(*key, count) for key, count in sorted(counted.items())]
    return [(_COUNT[dialect], rows)] if rows else []


def _ended(dialect: Dialect, report: OutcomeReport) -> tuple[str, Rows]:
    if report.tool:
        return _CALL_ENDED[dialect], [_call_ended(dialect, report)]
    return _TURN_ENDED[dialect], [_turn_ended(dialect, report)]


def _marks(dialect: Dialect, count: int) -> str:
    return ", ".join("?" if dialect == "sqlite" else f"${number}" for number in range(1, count + 1))


def _insert_decisions(dialect: Dialect) -> str:
    """Return the statement that stores decisions: in SQLite for one row, in Postgres for columns of many rows.

    Postgres takes a batch as one statement, which is quicker than a statement a row and says which rows were new.
    """
    names = ", ".join(f'"{column}"' for column in _COLUMNS)
    if dialect == "sqlite":
        return f"INSERT INTO decisions ({names}) VALUES ({_marks(dialect, len(_COLUMNS))}) ON CONFLICT DO NOTHING"  # noqa: S608 - names of ours
    arrays = ", ".join(
        f"${number}::{_TYPES_OF_COLUMNS.get(column, 'text')}[]" for number, column in enumerate(_COLUMNS, 1)
    )
    values = ", ".join(f'"{column}"' + ("::json" if column in _JSON else "") for column in _COLUMNS)
    return (
        f"INSERT INTO decisions ({names}) SELECT {values} FROM unnest({arrays}) AS new({names})"  # noqa: S608
        " ON CONFLICT DO NOTHING RETURNING id"
    )


_DIALECTS: tuple[Dialect, ...] = ("sqlite", "postgresql")
_INSERT_DECISIONS = {dialect: _insert_decisions(dialect) for dialect in _DIALECTS}
_INSERT_HIT = {
    dialect: f"INSERT INTO decision_rules (rule, decision_id, effect) VALUES ({_marks(dialect, 3)}) ON CONFLICT DO NOTHING"  # noqa: S608
    for dialect in _DIALECTS
}
_COUNT = {
    dialect: f'INSERT INTO decision_totals (organisation, "user", team, effect, decisions) VALUES ({_marks(dialect, 5)})'  # noqa: S608
    ' ON CONFLICT (organisation, "user", team, effect)'
    " DO UPDATE SET decisions = decision_totals.decisions + excluded.decisions"
    for dialect in _DIALECTS
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
RETURNING organisation, id
"""
_TURN_ENDED_TEXT = """
UPDATE decisions SET outcome = 'refused'
WHERE organisation = {organisation} AND session_id = {session_id} AND id >= {oldest} AND "user" = {user}
  AND agent_id = {agent_id} AND event = 'PreToolUse' AND effect = 'ask' AND outcome = 'unknown' AND at <= {at}
RETURNING organisation, id
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
    """Return the least id of a decision that can belong to the report."""
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
        # As SQLAlchemy writes moments into SQLite, which compares them as texts.
        value = value.astimezone(UTC)
        return value if dialect != "sqlite" else value.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
    return value
