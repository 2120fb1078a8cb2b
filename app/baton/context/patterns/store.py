"""The table of patterns, and its queries; `baton.context.patterns.service` checks permissions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Index, func, insert, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.context.patterns.pattern import LEAST_CONFIDENCE, Pattern, PatternFilter, Use
from baton.kernel.base.sql import Database, equal, row_of, table_of, types_of
from baton.kernel.changes.numbers import CHANGES
from baton.shared.storable import storable

KIND = "patterns"
"""The kind of change that makes every server read changed patterns."""
MOST_WORDS = 8


_TYPES = {"check_for" if name == "check" else name: kind for name, kind in types_of(Pattern).items()}
PATTERNS = table_of(
    "patterns",
    _TYPES | {"said": str, "number": int, "vector": bytes | None},
    Index("ix_patterns_team", "organisation", "team", "status", "id"),
    Index("ix_patterns_number", "organisation", "number", "id"),
    Index("ux_patterns_said", "organisation", "said", unique=True),
)
"""The patterns.

`said` identifies team, project and signature, to prevent duplicate proposals. `vector` is the meaning of signature
and text as 256 float16 numbers, null if the word table was missing. `number` is that of the last change of the row.
"""


_SHOWN = tuple(PATTERNS.c[name] for name in _TYPES)


class StoredVector(msgspec.Struct, frozen=True):
    """A pattern with its index data: its vector, or None, and the number of its change."""

    pattern: Pattern
    vector: bytes | None
    number: int


async def add(connection: AsyncConnection, organisation: str, pattern: Pattern, vector: bytes | None) -> None:
    """Store a new pattern. The transaction must hold the number of the change."""
    row = _row(organisation, pattern) | {"vector": vector}
    await connection.execute(insert(PATTERNS).values(row))


async def replace(connection: AsyncConnection, organisation: str, pattern: Pattern) -> bool:
    """Replace the previous version of a pattern; return False if another change came first."""
    change = (
        update(PATTERNS)
        .where(*_of(organisation, pattern.id), PATTERNS.c.version == pattern.version - 1)
        .values(_row(organisation, pattern))
    )
    return (await connection.execute(change)).rowcount == 1


async def get(connection: AsyncConnection, organisation: str, pattern_id: str) -> Pattern | None:
    """Return a pattern, or None."""
    row = (await connection.execute(select(*_SHOWN).where(*_of(organisation, pattern_id)))).first()
    return None if row is None else _pattern(row)


async def find_same(connection: AsyncConnection, organisation: str, team: str, project: str, signature: str) -> str:
    """Return the id of a team's pattern with this signature, in any status, or ""."""
    query = select(PATTERNS.c.id).where(
        PATTERNS.c.organisation == organisation, PATTERNS.c.said == _said(team, project, signature)
    )
    return str((await connection.execute(query)).scalar() or "")


async def count_proposed(connection: AsyncConnection, organisation: str, team: str) -> int:
    """Return the number of a team's undecided proposals."""
    query = select(func.count()).where(
        PATTERNS.c.organisation == organisation, PATTERNS.c.team == storable(team), PATTERNS.c.status == "proposed"
    )
    return int((await connection.execute(query)).scalar() or 0)


async def find_patterns(
    database: Database, organisation: str, wanted: PatternFilter, *, before_id: str = "", limit: int = 50
) -> list[Pattern]:
    """Return patterns, newest first; `before_id` is the last id of the previous page."""
    values = {name: getattr(wanted, name) for name in ("team", "status", "project", "domain", "source")}
    query = select(*_SHOWN).where(PATTERNS.c.organisation == organisation, *equal(PATTERNS, **values))
    for word in wanted.words.split()[:MOST_WORDS]:
        query = query.where(_holds(word))
    if before_id:
        query = query.where(PATTERNS.c.id < storable(before_id))
    query = query.order_by(PATTERNS.c.id.desc()).limit(limit)
    return [_pattern(row) for row in await database.rows(query)]


async def with_ids(database: Database, organisation: str, team: str, ids: Sequence[str]) -> dict[str, Pattern]:
    """Return a team's patterns with these ids."""
    query = select(*_SHOWN).where(
        PATTERNS.c.organisation == organisation, PATTERNS.c.team == storable(team), PATTERNS.c.id.in_(ids)
    )
    return {row.id: _pattern(row) for row in await database.rows(query)}


async def changed(
    database: Database, organisation: str, after: tuple[int, str], *, all_of_them: bool, limit: int
) -> list[StoredVector]:
    """Return the changes after a number and an id, in order; only patterns in force unless `all_of_them`."""
    number, pattern_id = after
    query = select(*_SHOWN, PATTERNS.c.vector, PATTERNS.c.number).where(
        PATTERNS.c.organisation == organisation,
        # Not two conditions joined by OR: those would scan the index from its start for each batch.
        tuple_(PATTERNS.c.number, PATTERNS.c.id) > (number, pattern_id),
    )
    if not all_of_them:
        query = query.where(PATTERNS.c.status == "validated", PATTERNS.c.confidence >= LEAST_CONFIDENCE)
    query = query.order_by(PATTERNS.c.number, PATTERNS.c.id).limit(limit)
    rows = await database.rows(query)
    return [StoredVector(_pattern(row), row.vector, row.number) for row in rows]


async def newest_number(database: Database, organisation: str) -> int:
    """Return the number of the last change of patterns, or 0."""
    query = select(CHANGES.c.number).where(CHANGES.c.organisation == organisation, CHANGES.c.kind == KIND)
    async with database.transaction() as connection:
        return int((await connection.execute(query)).scalar() or 0)


async def count(database: Database, organisation: str, counted: Mapping[tuple[str, Use], int]) -> None:
    """Add up counts by a pattern's id and the column: `shown`, `followed` or `violated`."""
    async with database.transaction() as connection:
        for (pattern_id, name), number in sorted(counted.items()):  # in one order, to avoid deadlocks between servers
            await connection.execute(
                update(PATTERNS).where(*_of(organisation, pattern_id)).values({name: PATTERNS.c[name] + number})
            )


async def judged(connection: AsyncConnection, organisation: str) -> list[Pattern]:
    """Return the validated patterns of all teams with checked edits."""
    query = select(*_SHOWN).where(
        PATTERNS.c.organisation == organisation,
        PATTERNS.c.status == "validated",
        PATTERNS.c.followed + PATTERNS.c.violated > 0,
    )
    return [_pattern(row) for row in (await connection.execute(query)).all()]


def _of(organisation: str, pattern_id: str) -> tuple[ColumnElement[bool], ...]:
    return PATTERNS.c.organisation == organisation, PATTERNS.c.id == storable(pattern_id)


def _holds(word: str) -> ColumnElement[bool]:
    sought = storable(word).lower()
    return or_(
        func.lower(PATTERNS.c.signature).contains(sought, autoescape=True),
        func.lower(PATTERNS.c.text).contains(sought, autoescape=True),
    )


def _said(team: str, project: str, signature: str) -> str:
    """Return a fixed-length key of a pattern: an index of Postgres accepts no text above 2.7 KB."""
    parts = (team, project, " ".join(signature.lower().split()))
    return sha256("".join(f"{len(part)}:{part}" for part in map(storable, parts)).encode()).hexdigest()


def _row(organisation: str, pattern: Pattern) -> dict[str, Any]:
    row = row_of(pattern)
    check = msgspec.structs.asdict(row.pop("check"))
    number = select(CHANGES.c.number).where(CHANGES.c.organisation == organisation, CHANGES.c.kind == KIND)
    return row | {
        "organisation": organisation,
        "said": _said(pattern.team, pattern.project, pattern.signature),
        "globs": [storable(glob) for glob in pattern.globs],
        "check_for": {name: storable(value) for name, value in check.items() if value},
        "number": number.scalar_subquery(),
    }


def _pattern(row: Any) -> Pattern:
    return msgspec.convert(row._asdict() | {"check": row.check_for}, Pattern)


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
