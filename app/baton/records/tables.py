"""The tables of decisions: their rows and their counts."""

from sqlalchemy import Index

from baton.kernel.base.sql import table_of
from baton.rules.call.record import FIELDS

HIT_EFFECTS = ("guidance", "shadow", "lifted")
"""Effects that a rule may have beside the one that decided; decisions are found by them in their rule hits."""

DECISIONS = table_of(
    "decisions",
    # The id is a UUIDv7: decisions are found by time through it, and `at` is its moment.
    {field.name: field.kind | None if field.may_lack else field.kind for field in FIELDS},
    *(
        Index(f"ix_decisions_{name}", "organisation", column, "id")
        for name, column in (("user", "user"), ("session", "session_id"), ("team", "team"))
    ),
    keys=("organisation", "id"),
    sqlite_with_rowid=False,
)
"""One row for each decision; the columns are the fields of its record."""
LISTED = [column for column in DECISIONS.c if column.name != "prompt"]
"""The columns of a list of decisions. Prompts are long, so `get` alone reads them."""
TOTALS = table_of("decision_totals", {"decisions": int}, keys=("organisation", "user", "team", "effect"))
"""The number of a user's stored tool calls in a team with one effect, so that `/status` counts no rows."""
