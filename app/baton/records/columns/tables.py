"""The tables of decisions by column, and of the hours and days stored this way."""

from functools import lru_cache
from typing import ClassVar

import msgspec
from sqlalchemy import Table
from sqlmodel import Field, SQLModel

from baton.rules.call.verdict import RuleHit


class SummedHourRow(SQLModel, table=True):
    """An hour, counted from 1970 in UTC. Its columns are read if it is `valid`, else its rows."""

    __tablename__ = "summed_hours"
    __table_args__: ClassVar = {"sqlite_with_rowid": False}
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    hour: int = Field(primary_key=True)
    valid: bool


class DecisionColumnRow(SQLModel, table=True):
    """One column of an hour's decisions; `piece.Piece` reads and writes `data`."""

    __tablename__ = "decision_columns"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    hour: int = Field(primary_key=True)
    column: str = Field(primary_key=True)
    data: bytes


class SummedDayRow(SQLModel, table=True):
    """A day, counted from 1970 in UTC. It is in one piece if it is `valid` and all its hours are."""

    __tablename__ = "summed_days"
    __table_args__: ClassVar = {"sqlite_with_rowid": False}
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    day: int = Field(primary_key=True)
    valid: bool


class DayColumnRow(SQLModel, table=True):
    """One column of a day's decisions, like `DecisionColumnRow`."""

    __tablename__ = "day_columns"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    day: int = Field(primary_key=True)
    column: str = Field(primary_key=True)
    data: bytes


SUMMED = SummedHourRow.__table__
COLUMNS = DecisionColumnRow.__table__
SUMMED_DAYS = SummedDayRow.__table__
DAY_COLUMNS = DayColumnRow.__table__


# The rule hits of decisions, as the column `rules` holds them.

_decode = msgspec.json.Decoder(tuple[RuleHit, ...]).decode


@lru_cache(maxsize=4_096)
def hits_in(rules: str) -> tuple[RuleHit, ...]:
    """Return the rule hits of a JSON text; the same few texts come again in each hour."""
    return _decode(rules)


# Round latencies, so that any number of decisions has few distinct ones.

_STEPS_US = (1, 10, 100, 1_000, 10_000, 100_000)
"""The times to which others are rounded down, in microseconds: two digits each; the last one stands for all slower ones."""


def rounded_us(us: int) -> int:
    """Return a time rounded down to two digits."""
    return us - us % width_us(us)


def width_us(us: int) -> int:
    """Return the width, in microseconds, of the latency bucket starting at `us`."""
    return next((step for step in _STEPS_US if us < 100 * step), _STEPS_US[-1])
