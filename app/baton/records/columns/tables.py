"""The tables of decisions by column, and of the hours and days that are kept this way."""

from typing import ClassVar

from sqlalchemy import Table
from sqlmodel import Field, SQLModel


class SummedHourRow(SQLModel, table=True):
    """An hour, counted from 1970 in UTC; its columns are kept where it is `valid`, and its rows are read where not."""

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
    """A day, counted from 1970 in UTC; it is in one piece where it is `valid` and all its hours are."""

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
