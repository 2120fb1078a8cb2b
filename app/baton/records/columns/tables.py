"""The tables of decisions by column, an hour in each row, and of the hours that are kept this way."""

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
    """One column of an hour's decisions; `hour.HourColumns` reads and writes `data`."""

    __tablename__ = "decision_columns"
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    hour: int = Field(primary_key=True)
    column: str = Field(primary_key=True)
    data: bytes


SUMMED = SummedHourRow.__table__
COLUMNS = DecisionColumnRow.__table__
