"""The tables of hourly sums of decisions, and which hours are summed up."""

from typing import ClassVar

from sqlalchemy import Table
from sqlmodel import Field, SQLModel

_CLUSTERED = {"sqlite_with_rowid": False}
"""SQLite then keeps the rows in the order of the key, so that the hours of a period are read in one piece."""


class SummedHourRow(SQLModel, table=True):
    """An hour, counted from 1970 in UTC; its sums are kept where it is `valid`, and its rows are read where not."""

    __tablename__ = "summed_hours"
    __table_args__ = _CLUSTERED
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    hour: int = Field(primary_key=True)
    valid: bool


class CallHourRow(SQLModel, table=True):
    """What one session did in an hour by events of one name: how many decisions meet each condition."""

    __tablename__ = "call_hours"
    __table_args__ = _CLUSTERED
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    hour: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    session_id: str
    user: str
    team: str
    project: str
    client: str
    event: str
    first_id: str
    last_id: str
    decisions: int
    effect_deny: int
    effect_ask: int
    effect_rewrite: int
    effect_allow: int
    effect_abstain: int
    outcome_ran: int
    outcome_failed: int
    outcome_refused: int
    outcome_ran_anyway: int
    outcome_rewrite_ignored: int
    outcome_unknown: int
    overridden: int
    guided: int
    delegated: int
    direct: int
    spawned: int
    ignored: int
    injected_haiku: int
    injected_sonnet: int
    injected_opus: int
    injected_fable: int


class RuleHourRow(SQLModel, table=True):
    """How often a rule matched calls of one user with one effect in an hour, and the last of these decisions."""

    __tablename__ = "rule_hours"
    __table_args__ = _CLUSTERED
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    hour: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    rule: str
    effect: str
    user: str
    team: str
    hits: int
    last_id: str


class LatencyHourRow(SQLModel, table=True):
    """How many decisions of a team and an event took from `us` microseconds on, rounded down, and what they lacked.

    It tells of no person, so that an hour has few rows. `degraded` is the JSON list of the decisions.
    """

    __tablename__ = "latency_hours"
    __table_args__ = _CLUSTERED
    __table__: ClassVar[Table]

    organisation: str = Field(primary_key=True)
    hour: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    team: str
    event: str
    us: int
    degraded: str
    decisions: int


SUMMED = SummedHourRow.__table__
CALLS = CallHourRow.__table__
RULES = RuleHourRow.__table__
LATENCY = LatencyHourRow.__table__
