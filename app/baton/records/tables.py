"""The tables of decisions: their rows and their counts."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Boolean, Column, Float, Index, Integer, PrimaryKeyConstraint, String, Table
from sqlmodel import Field, SQLModel

from baton.kernel.base.sql import UTCDateTime
from baton.rules.call.record import FIELDS
from baton.rules.call.record import Field as RecordField

HIT_EFFECTS = ("guidance", "shadow", "lifted")
"""Effects that a rule may have beside the one that decided; decisions are found by them in their rule hits."""

_KINDS: dict[type, Any] = {str: String, bool: Boolean, int: Integer, float: Float, datetime: UTCDateTime, tuple: JSON}


def _column(field: RecordField) -> Column[Any]:
    column: Column[Any] = Column(_KINDS[field.kind], nullable=field.may_lack)
    # Given to `Column` itself, a name becomes a subclass of `str`, and no row of such names converts to a record.
    column.name = column.key = field.name
    return column


DECISIONS = Table(
    "decisions",
    SQLModel.metadata,
    # The id is a UUIDv7: decisions are found by time through it, and `at` is its moment.
    *map(_column, FIELDS),
    PrimaryKeyConstraint("organisation", "id"),
    *(
        Index(f"ix_decisions_{name}", "organisation", column, "id")
        for name, column in (("user", "user"), ("session", "session_id"), ("team", "team"))
    ),
    sqlite_with_rowid=False,
)
"""One row for each decision; the columns are the fields of its record."""
LISTED = [column for column in DECISIONS.c if column.name != "prompt"]
"""The columns of a list of decisions. Prompts are long, so `get` alone reads them."""


class DecisionTotalRow(SQLModel, table=True):
    """The number of a user's stored tool calls in a team with one effect, so that `/status` counts no rows."""

    __tablename__ = "decision_totals"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    user: str = Field(primary_key=True)
    team: str = Field(primary_key=True)
    effect: str = Field(primary_key=True)
    decisions: int
