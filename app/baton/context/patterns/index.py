"""The patterns in force of one team, in memory: the most valuable ones for a prompt, and those with a check.

The built-in index is exact: one matrix, multiplied by the prompt's vector. Texts are not stored; they are read for the
few winning patterns.
"""

import asyncio
import logging
from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from baton.context.patterns.pattern import Pattern, PatternCheck
from baton.kernel.base import word_table
from baton.kernel.base.word_table import DIMENSIONS

# Texts as vectors, by routing's static word table, loaded on first use.

log = logging.getLogger(__name__)

Vector = NDArray[np.float32]
LONGEST_EMBEDDED = 2_000
"""Maximum characters of a string used for its vector."""


class Meanings:
    """Makes vectors of strings. Without the table there are none, and strings are compared only by words."""

    def __init__(self) -> None:
        self._table: word_table.WordTable | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def missing(self) -> bool:
        """Return whether the table was searched but is not installed."""
        return self._table is None and self._reading is not None and self._reading.done()

    async def vector(self, text: str) -> Vector | None:
        """Return a string's vector of length 1, all zeros without known words; None without the table."""
        if self._table is None:
            if self._reading is None:
                self._reading = asyncio.create_task(self._read())
            await asyncio.shield(self._reading)
        return None if self._table is None else self._table.embed(text[:LONGEST_EMBEDDED])

    async def _read(self) -> None:
        try:
            self._table = await asyncio.to_thread(word_table.shared)
        except word_table.WordTableMissing as error:
            log.warning("patterns are found by their words alone: %s", error)


def packed(vector: Vector | None) -> bytes | None:
    """Return a vector in its stored form: 512 bytes of float16."""
    return None if vector is None else vector.astype(np.float16).tobytes()


def unpacked(stored: bytes | None) -> Vector:
    """Return a stored vector, all zeros if missing."""
    if stored is None or len(stored) != word_table.DIMENSIONS * 2:
        return np.zeros(word_table.DIMENSIONS, dtype=np.float32)
    return np.frombuffer(stored, dtype=np.float16).astype(np.float32)


_FIRST = 64
"""Initial number of a matrix's rows; it doubles."""
_ANY_PROJECT = 0


class IndexedPattern(msgspec.Struct, frozen=True):
    """The indexed part of a pattern."""

    id: str
    signature: str
    project: str
    domain: str
    language: str
    globs: tuple[str, ...]
    confidence: float
    check: PatternCheck

    @classmethod
    def build(cls, pattern: Pattern) -> "IndexedPattern":
        """Return the indexed part of a pattern."""
        return cls(*(getattr(pattern, name) for name in cls.__struct_fields__))


class Found(msgspec.Struct, frozen=True):
    """A found pattern. `likeness` is the cosine similarity to the query, 0 without a vector."""

    pattern: IndexedPattern
    worth: float
    likeness: float


class TeamIndex:
    """One team's patterns in force, by rows. The last row replaces a removed one."""

    def __init__(self) -> None:
        self._rows: list[IndexedPattern] = []
        self._at: dict[str, int] = {}
        self._vectors: NDArray[np.float32] = np.zeros((_FIRST, DIMENSIONS), dtype=np.float32)
        self._confidences: NDArray[np.float32] = np.zeros(_FIRST, dtype=np.float32)
        self._projects: NDArray[np.int32] = np.zeros(_FIRST, dtype=np.int32)
        self._project_codes: dict[str, int] = {"": _ANY_PROJECT}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, pattern: IndexedPattern, vector: Vector) -> None:
        """Add a pattern, or replace the one with its id."""
        row = self._at.get(pattern.id)
        if row is None:
            row = len(self._rows)
            self._make_room(row)
            self._rows.append(pattern)
            self._at[pattern.id] = row
        self._rows[row] = pattern
        self._vectors[row] = vector
        self._confidences[row] = pattern.confidence
        self._projects[row] = self._project_codes.setdefault(pattern.project, len(self._project_codes))

    def drop(self, pattern_id: str) -> None:
        """Remove a pattern; a missing one is ignored."""
        row = self._at.pop(pattern_id, None)
        if row is None:
            return
        last = self._rows.pop()
        if last.id != pattern_id:
            end = len(self._rows)
            self._rows[row] = last
            self._at[last.id] = row
            for held in (self._vectors, self._confidences, self._projects):
                held[row] = held[end]

    def __contains__(self, pattern_id: str) -> bool:
        return pattern_id in self._at

    def get(self, pattern_id: str) -> IndexedPattern | None:
        """Return a pattern in force, or None."""
        row = self._at.get(pattern_id)
        return None if row is None else self._rows[row]

    def of_project(self, project: str) -> Iterator[IndexedPattern]:
        """Yield the patterns for a project, in no order."""
        return (one for one in list(self._rows) if one.project in {"", project})

    def best(self, vector: Vector | None, project: str, limit: int) -> list[Found]:
        """Return the most valuable patterns for a project, the best first.

        The value is the confidence, and with a vector confidence * (1 + likeness) / 2. For equal values the project's
        own come first, then the older ones.
        """
        rows = list(self._rows)  # a large team is searched in a thread, during possible changes
        count = len(rows)
        if not count:
            return []
        projects = self._projects[:count]
        own = self._project_codes.get(project, -1) if project else -1
        likeness = np.zeros(count, dtype=np.float32) if vector is None else self._vectors[:count] @ vector
        worth = self._confidences[:count].copy()
        if vector is not None:
            worth *= (1 + np.clip(likeness, 0, 1)) / 2
        worth[(projects != _ANY_PROJECT) & (projects != own)] = -1
        top = np.argpartition(-worth, limit - 1)[:limit] if count > limit else np.arange(count)
        # Equal patterns at the border are selected arbitrarily: a team with thousands of equals needs no order.
        found = [(rows[row], float(worth[row]), float(likeness[row])) for row in top if worth[row] >= 0]
        found.sort(key=lambda one: (-one[1], one[0].project != project, one[0].id))
        return [Found(pattern, round(value, 6), round(like, 6)) for pattern, value, like in found]

    def _make_room(self, row: int) -> None:
        if row < len(self._vectors):
            return
        size = len(self._vectors) * 2
        self._vectors = np.resize(self._vectors, (size, DIMENSIONS))
        self._confidences = np.resize(self._confidences, size)
        self._projects = np.resize(self._projects, size)
