"""The table of patterns, and its queries; `baton.context.patterns.service` checks permissions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, ClassVar

import msgspec
from sqlalchemy import JSON, Column, ColumnElement, Index, LargeBinary, Table, func, insert, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.context.patterns.pattern import LEAST_CONFIDENCE, Pattern, PatternFilter, Use
from baton.kernel.base.sql import Database, UTCDateTime
from baton.kernel.changes.numbers import ChangeRow
from baton.shared.storable import storable

KIND = "patterns"
"""The kind of change that makes every server read changed patterns."""
MOST_WORDS = 8


class PatternRow(SQLModel, table=True):
    """One pattern, as described in `baton.context.patterns.pattern.Pattern`.

    `said` identifies team, project and signature, to prevent duplicate proposals. `vector` is the meaning of signature
    and text as 256 float16 numbers, null if the word table was missing. `number` is that of the last change of the row.
    """

    __tablename__ = "patterns"
    __table_args__ = (
        Index("ix_patterns_team", "organisation", "team", "status", "id"),
        Index("ix_patterns_number", "organisation", "number", "id"),
        Index("ux_patterns_said", "organisation", "said", unique=True),
    )
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str
    team: str
    project: str
    signature: str
    said: str
    text: str
    domain: str
    language: str
    globs: list[str] = Field(sa_column=Column(JSON, nullable=False))
    check: dict[str, str] = Field(sa_column=Column("check_for", JSON, nullable=False))
    status: str
    source: str
    stated: float
    confidence: float
    created_at: datetime = Field(sa_type=UTCDateTime)
    created_by: str
    decided_at: datetime | None = Field(default=None, sa_type=UTCDateTime)
    decided_by: str
    reason: str
    merged_into: str
    shown: int
    followed: int
    violated: int
    version: int
    number: int
    vector: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))


_patterns = PatternRow.__table__
_changes = ChangeRow.__table__
_OWN = {"organisation", "said", "number", "vector"}
"""Columns outside a `Pattern`."""
_SHOWN = tuple(column for column in _patterns.c if column.name not in _OWN)


class StoredVector(msgspec.Struct, frozen=True):
    """A pattern with its index data: its vector, or None, and the number of its change."""

    pattern: Pattern
    vector: bytes | None
    number: int


async def add(connection: AsyncConnection, organisation: str, pattern: Pattern, vector: bytes | None) -> None:
    """Store a new pattern. The transaction must hold the number of the change."""
    row = _row(organisation, pattern) | {"vector": vector}
    await connection.execute(insert(_patterns).values(row))


async def replace(connection: AsyncConnection, organisation: str, pattern: Pattern) -> bool:
    """Replace the previous version of a pattern; return False if another change came first."""
    change = (
        update(_patterns)
        .where(*_of(organisation, pattern.id), _patterns.c.version == pattern.version - 1)
        .values(_row(organisation, pattern))
    )
    return (await connection.execute(change)).rowcount == 1


async def get(connection: AsyncConnection, organisation: str, pattern_id: str) -> Pattern | None:
    """Return a pattern, or None."""
    row = (await connection.execute(select(*_SHOWN).where(*_of(organisation, pattern_id)))).first()
    return None if row is None else _pattern(row)


async def find_same(connection: AsyncConnection, organisation: str, team: str, project: str, signature: str) -> str:
    """Return the id of a team's pattern with this signature, in any status, or ""."""
    query = select(_patterns.c.id).where(
        _patterns.c.organisation == organisation, _patterns.c.said == _said(team, project, signature)
    )
    return str((await connection.execute(query)).scalar() or "")


async def count_proposed(connection: AsyncConnection, organisation: str, team: str) -> int:
    """Return the number of a team's undecided proposals."""
    query = select(func.count()).where(
        _patterns.c.organisation == organisation, _patterns.c.team == storable(team), _patterns.c.status == "proposed"
    )
    return int((await connection.execute(query)).scalar() or 0)


async def find(
    database: Database, organisation: str, wanted: PatternFilter, *, before_id: str = "", limit: int = 50
) -> list[Pattern]:
    """Return patterns, newest first; `before_id` is the last id of the previous page."""
    query = select(*_SHOWN).where(_patterns.c.organisation == organisation)
    for name in ("team", "status", "project", "domain", "source"):
        if value := getattr(wanted, name):
            query = query.where(_patterns.c[name] == storable(value))
    for word in wanted.words.split()[:MOST_WORDS]:
        query = query.where(_holds(word))
    if before_id:
        query = query.where(_patterns.c.id < storable(before_id))
    query = query.order_by(_patterns.c.id.desc()).limit(limit)
    async with database.transaction() as connection:
        return [_pattern(row) for row in (await connection.execute(query)).all()]


async def with_ids(database: Database, organisation: str, team: str, ids: Sequence[str]) -> dict[str, Pattern]:
    """Return a team's patterns with these ids."""
    query = select(*_SHOWN).where(
        _patterns.c.organisation == organisation, _patterns.c.team == storable(team), _patterns.c.id.in_(ids)
    )
    async with database.transaction() as connection:
        return {row.id: _pattern(row) for row in (await connection.execute(query)).all()}


async def changed(
    database: Database, organisation: str, after: tuple[int, str], *, all_of_them: bool, limit: int
) -> list[StoredVector]:
    """Return the changes after a number and an id, in order; only patterns in force unless `all_of_them`."""
    number, pattern_id = after
    query = select(*_SHOWN, _patterns.c.vector, _patterns.c.number).where(
        _patterns.c.organisation == organisation,
        # Not two conditions joined by OR: those would scan the index from its start for each batch.
        tuple_(_patterns.c.number, _patterns.c.id) > (number, pattern_id),
    )
    if not all_of_them:
        query = query.where(_patterns.c.status == "validated", _patterns.c.confidence >= LEAST_CONFIDENCE)
    query = query.order_by(_patterns.c.number, _patterns.c.id).limit(limit)
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [StoredVector(_pattern(row), row.vector, row.number) for row in rows]


async def newest_number(database: Database, organisation: str) -> int:
    """Return the number of the last change of patterns, or 0."""
    query = select(_changes.c.number).where(_changes.c.organisation == organisation, _changes.c.kind == KIND)
    async with database.transaction() as connection:
        return int((await connection.execute(query)).scalar() or 0)


async def count(database: Database, organisation: str, counted: Mapping[tuple[str, Use], int]) -> None:
    """Add up counts by a pattern's id and the column: `shown`, `followed` or `violated`."""
    async with database.transaction() as connection:
        for (pattern_id, name), number in sorted(counted.items()):  # in one order, to avoid deadlocks between servers
            await connection.execute(
                update(_patterns).where(*_of(organisation, pattern_id)).values({name: _patterns.c[name] + number})
            )


async def judged(connection: AsyncConnection, organisation: str) -> list[Pattern]:
    """Return the validated patterns of all teams with checked edits."""
    query = select(*_SHOWN).where(
        _patterns.c.organisation == organisation,
        _patterns.c.status == "validated",
        _patterns.c.followed + _patterns.c.violated > 0,
    )
    return [_pattern(row) for row in (await connection.execute(query)).all()]


def _of(organisation: str, pattern_id: str) -> tuple[ColumnElement[bool], ...]:
    return _patterns.c.organisation == organisation, _patterns.c.id == storable(pattern_id)


def _holds(word: str) -> ColumnElement[bool]:
    sought = storable(word).lower()
    return or_(
        func.lower(_patterns.c.signature).contains(sought, autoescape=True),
        func.lower(_patterns.c.text).contains(sought, autoescape=True),
    )


def _said(team: str, project: str, signature: str) -> str:
    """Return a fixed-length key of a pattern: an index of Postgres accepts no text above 2.7 KB."""
    parts = (team, project, " ".join(signature.lower().split()))
    return sha256("".join(f"{len(part)}:{part}" for part in map(storable, parts)).encode()).hexdigest()


def _row(organisation: str, pattern: Pattern) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: storable(value) if isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(pattern).items()
        if name != "check"
    }
    number = select(_changes.c.number).where(_changes.c.organisation == organisation, _changes.c.kind == KIND)
    return row | {
        "organisation": organisation,
        "said": _said(pattern.team, pattern.project, pattern.signature),
        "globs": [storable(glob) for glob in pattern.globs],
        "check_for": {name: storable(value) for name, value in msgspec.structs.asdict(pattern.check).items() if value},
        "number": number.scalar_subquery(),
    }


def _pattern(row: Any) -> Pattern:
    values = {name: value for name, value in row._asdict().items() if name not in _OWN}
    return msgspec.convert(values | {"check": values.pop("check_for")}, Pattern)


# Counts of shown, followed and violated patterns: collected in memory, and added up in SQL.

MOST_WAITING = 10_000
"""Maximum patterns with waiting counts while the database is unavailable; further counts are lost."""


class PatternCounts:
    """Counts of patterns since the last storing."""

    def __init__(self, database: Database, organisation: str) -> None:
        self._database = database
        self._organisation = organisation
        self._waiting: Counter[tuple[str, Use]] = Counter()

    def shown(self, ids: Iterable[str]) -> None:
        """Count patterns added to a prompt."""
        for one in ids:
            self._count(one, "shown")

    def judged(self, pattern_id: str, *, violated: bool) -> None:
        """Count an edit that followed or violated a pattern."""
        self._count(pattern_id, "violated" if violated else "followed")

    def _count(self, pattern_id: str, use: Use) -> None:
        if len(self._waiting) < MOST_WAITING or (pattern_id, use) in self._waiting:
            self._waiting[pattern_id, use] += 1

    async def flush(self) -> None:
        """Store the counts. Raise DatabaseUnavailable; the counts wait then."""
        counted, self._waiting = self._waiting, Counter()
        if not counted:
            return
        try:
            await count(self._database, self._organisation, counted)
        except BaseException:
            self._waiting.update(counted)
            raise
