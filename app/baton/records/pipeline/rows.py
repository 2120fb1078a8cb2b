"""How a record is written into SQL: the statements, and the values of a row for each database."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from baton.engine.call.record import Record
from baton.kernel.base.driver import Dialect, Rows

LARGEST_BATCH = 200
"""Records per transaction; more would keep other writers waiting."""
_COLUMNS = Record.__struct_fields__
_RULE_COLUMNS = ("rule", "decision_id", "effect")
_JSON = frozenset({"rules", "degraded", "paths"})


def statements(dialect: Dialect, records: Sequence[Record]) -> list[tuple[str, Rows]]:
    """Return what stores at most 200 records; one that is stored already stays as it is.

    Raises:
        ValueError: If there are more, or if a record's moment has no timezone.
    """
    if len(records) > LARGEST_BATCH:
        raise ValueError(f"{len(records)} records in one batch; at most {LARGEST_BATCH}")
    rules = [(hit.id, record.id, hit.effect) for record in records for hit in record.rules]
    decisions = [tuple([_value(dialect, name, getattr(record, name)) for name in _COLUMNS]) for record in records]
    found: list[tuple[str, Rows]] = [(_INSERTS[dialect, "decisions"], decisions)]
    return [*found, (_INSERTS[dialect, "decision_rules"], rules)] if rules else found


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
