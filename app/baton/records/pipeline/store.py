"""The tables of decisions and their queries; `baton.records.review.decisions` decides who may see which."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from string import ascii_uppercase
from typing import Any, ClassVar
from uuid import UUID

import msgspec
from sqlalchemy import JSON, Column, Index, Row, Select, String, Table, cast, func, select
from sqlmodel import Field, SQLModel

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.record import LONGEST_ID, LONGEST_PROJECT, Record
from baton.kernel.base.driver import Dialect
from baton.kernel.base.sql import Database, UTCDateTime, storable
from baton.people.row_scope import RowScope
from baton.records.pipeline.rows import statements

LARGEST_PAGE = 200


class DecisionRow(SQLModel, table=True):
    """One decision; the columns are the fields of `baton.engine.call.record.Record`."""

    __tablename__ = "decisions"
    __table_args__ = (
        Index("ix_decisions_user", "organisation", "user", "id"),
        Index("ix_decisions_session", "organisation", "session_id", "id"),
        Index("ix_decisions_at", "organisation", "at"),
    )
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    at: datetime = Field(sa_type=UTCDateTime)
    organisation: str
    team: str
    user: str
    project: str
    session_id: str
    agent_id: str
    agent_type: str
    client: str
    event: str
    tool: str
    tool_use_id: str
    effect: str
    decision: str
    rules: list[dict[str, str]] = Field(sa_column=Column(JSON, nullable=False))
    mode_enabled: bool
    mode_level: str
    mode_scope: str
    revision: str
    elapsed_us: int
    degraded: list[str] = Field(sa_column=Column(JSON, nullable=False))
    command: str
    paths: list[str] = Field(sa_column=Column(JSON, nullable=False))
    model_injected: str
    role: str = Field(default="", sa_column_kwargs={"server_default": ""})
    prompt: str = Field(default="", sa_column_kwargs={"server_default": ""})
    overridden: bool
    routed_to: str = Field(default="", sa_column_kwargs={"server_default": ""})
    routed_by: str = Field(default="", sa_column_kwargs={"server_default": ""})
    confidence: float = Field(default=0.0, sa_column_kwargs={"server_default": "0"})
    outcome: str = Field(default="", sa_column_kwargs={"server_default": ""})
    duration_ms: int | None = None
    model_used: str = Field(default="", sa_column_kwargs={"server_default": ""})
    input_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    cached_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    output_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class DecisionRuleRow(SQLModel, table=True):
    """One rule hit of a decision, in a table of its own so that decisions are found by rule."""

    __tablename__ = "decision_rules"
    __table__: ClassVar[Table]

    rule: str = Field(primary_key=True)
    decision_id: str = Field(primary_key=True)
    effect: str


_decisions = DecisionRow.__table__
_rules = DecisionRuleRow.__table__
LISTED = [column for column in _decisions.c if column.name != "prompt"]
"""The columns of a list of decisions. Prompts are long, so `get` alone reads them."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to find; all that are set must hold. `since` is included, `until` is not.

    `q` is a part of the tool's name, the command or a path; the case of ASCII letters does not matter.
    """

    scope: RowScope = RowScope()
    user: str = ""
    session_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    client: str = ""
    event: str = ""
    tool: str = ""
    effect: str = ""
    decision: str = ""
    outcome: str = ""
    rule: str = ""
    project: str = ""
    revision: str = ""
    q: str = ""
    overridden: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


class BadCursorError(ValueError):
    """The cursor was not made by this server."""


async def add(database: Database, records: Sequence[Record], reports: Sequence[OutcomeReport] = ()) -> None:
    """Store at most 200 records and reports in one transaction; a record that is stored already stays as it is.

    Raises:
        DatabaseUnavailable: If the database is away; nothing was stored.
    """
    dialect: Dialect = "sqlite" if database.dialect == "sqlite" else "postgresql"
    async with database.transaction() as connection:
        for statement, rows in statements(dialect, records, reports):
            await connection.exec_driver_sql(statement, list(rows))


async def find(
    database: Database, organisation: str, wanted: Filters, cursor: str = "", limit: int = 50
) -> tuple[list[Record], str]:
    """Return decisions without their prompts, newest first, and the cursor of the next page ("" on the last).

    At most `limit` decisions are returned, and never more than 200.

    Raises:
        BadCursorError: If the cursor was not made by this server.
        DatabaseUnavailable: If the database is away.
    """
    limit = max(1, min(limit, LARGEST_PAGE))
    # One row more than asked for tells whether there is a next page.
    query = restricted(select(*LISTED), organisation, wanted).order_by(_decisions.c.id.desc()).limit(limit + 1)
    if cursor:
        query = query.where(_decisions.c.id < _before(cursor))
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    more = len(rows) > limit
    records = [_record(row) for row in rows[:limit]]
    return records, base64.urlsafe_b64encode(UUID(records[-1].id).bytes).decode() if more else ""


async def get(database: Database, organisation: str, decision_id: str) -> Record | None:
    """Return one decision with its prompt, or None if the organisation has none with that id."""
    query = select(_decisions).where(
        _decisions.c.id == storable(decision_id), _decisions.c.organisation == organisation
    )
    async with database.transaction() as connection:
        row = (await connection.execute(query)).first()
    return None if row is None else _record(row)


async def counts(database: Database, organisation: str, wanted: Filters) -> dict[str, int]:
    """Return how many decisions there are of each effect."""
    query = restricted(select(_decisions.c.effect, func.count()), organisation, wanted).group_by(_decisions.c.effect)
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return dict(sorted((row[0], row[1]) for row in rows))


def _record(row: Row[Any]) -> Record:
    return msgspec.convert(row._asdict(), Record)


_EQUAL = (
    "user", "session_id", "agent_id", "agent_type", "client", "event", "tool", "effect", "decision", "outcome", "project",
    "revision",
)  # fmt: skip
"""The filters that a column must be equal to."""


def restricted(query: Select[Any], organisation: str, wanted: Filters) -> Select[Any]:
    """Restrict a query to the decisions that are wanted. `matches` says the same of one record."""
    query = wanted.scope.limit(query.where(_decisions.c.organisation == organisation), _decisions)
    for name in _EQUAL:
        if value := getattr(wanted, name):
            query = query.where(_decisions.c[name] == _as_stored(name, value))
    if wanted.rule:
        query = query.where(
            _decisions.c.id.in_(select(_rules.c.decision_id).where(_rules.c.rule == storable(wanted.rule)))
        )
    if wanted.q:
        text = storable(wanted.q)
        paths = cast(_decisions.c.paths, String)
        query = query.where(
            _decisions.c.tool.icontains(text, autoescape=True)
            | _decisions.c.command.icontains(text, autoescape=True)
            | paths.icontains(_in_json(text), autoescape=True)
        )
    if wanted.overridden is not None:
        query = query.where(_decisions.c.overridden == wanted.overridden)
    if wanted.since is not None:
        query = query.where(_decisions.c.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(_decisions.c.at < wanted.until)
    return query


def matches(record: Record, organisation: str, wanted: Filters) -> bool:
    """Return whether `restricted` would find a record."""
    scope = wanted.scope
    return (
        record.organisation == organisation
        and (
            not scope.user
            or record.user == storable(scope.user)
            or bool(scope.team and record.team == storable(scope.team))
        )
        and all(getattr(record, name) == _as_stored(name, value) for name in _EQUAL if (value := getattr(wanted, name)))
        and (not wanted.rule or any(hit.id == storable(wanted.rule) for hit in record.rules))
        and (not wanted.q or _mentions(record, storable(wanted.q)))
        and (wanted.overridden is None or record.overridden == wanted.overridden)
        and (wanted.since is None or record.at >= wanted.since)
        and (wanted.until is None or record.at < wanted.until)
    )


def _as_stored(name: str, value: str) -> str:
    return storable(value)[: LONGEST_PROJECT if name == "project" else LONGEST_ID]


def _mentions(record: Record, text: str) -> bool:
    paths = msgspec.json.encode(record.paths).decode()
    return (
        _lowered(text) in _lowered(record.tool)
        or _lowered(text) in _lowered(record.command)
        or _lowered(_in_json(text)) in _lowered(paths)
    )


def _lowered(text: str) -> str:
    """Return a text in lower case as SQLite's `lower` has it, which knows ASCII alone."""
    return text.translate(_LOWER)


_LOWER = {ord(one): one.lower() for one in ascii_uppercase}


def _in_json(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]


def _before(cursor: str) -> str:
    try:
        return str(UUID(bytes=base64.urlsafe_b64decode(cursor.encode())))
    except (binascii.Error, ValueError) as error:
        raise BadCursorError(f"`{cursor}` is not a cursor; take `next_cursor` of the page before") from error
