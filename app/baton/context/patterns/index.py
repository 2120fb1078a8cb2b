"""The patterns of one team that are in force, in memory: which are worth most for a prompt, and which have a check.

The built-in index is exact: one matrix, multiplied by the prompt's vector. Texts are not held; they are read for the few
patterns that win.
"""

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from baton.context.patterns.meanings import Vector
from baton.context.patterns.pattern import Check, Pattern
from baton.kernel.base.word_table import DIMENSIONS

_FIRST = 64
"""Rows that a matrix has room for at first; it doubles."""
_ANY_PROJECT = 0


class IndexedPattern(msgspec.Struct, frozen=True):
    """What the index holds of a pattern."""

    id: str
    signature: str
    project: str
    domain: str
    language: str
    globs: tuple[str, ...]
    confidence: float
    check: Check

    @classmethod
    def of(cls, pattern: Pattern) -> "IndexedPattern":
        """Take from a pattern what the index holds of it."""
        return cls(
            pattern.id,
            pattern.signature,
            pattern.project,
            pattern.domain,
            pattern.language,
            pattern.globs,
            pattern.confidence,
            pattern.check,
        )


class Found(msgspec.Struct, frozen=True):
    """A pattern that was found. `likeness` is the cosine to what was looked for, 0 without a vector."""

    pattern: IndexedPattern
    worth: float
    likeness: float


class TeamIndex:
    """One team's patterns in force, by rows. A row that goes is filled by the last one."""

    def __init__(self) -> None:
        self._rows: list[IndexedPattern] = []
        self._at: dict[str, int] = {}
        self._vectors: NDArray[np.float32] = np.zeros((_FIRST, DIMENSIONS), dtype=np.float32)
        self._confidences: NDArray[np.float32] = np.zeros(_FIRST, dtype=np.float32)
        self._projects: NDArray[np.int32] = np.zeros(_FIRST, dtype=np.int32)
        self._project_codes: dict[str, int] = {"": _ANY_PROJECT}

    def __len__(self) -> int:
        """Return the number of patterns."""
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
        """Remove a pattern; one that is not there is no error."""
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
        """Return whether a pattern is in force."""
        return pattern_id in self._at

    def get(self, pattern_id: str) -> IndexedPattern | None:
        """Return a pattern that is in force, None if it is not."""
        row = self._at.get(pattern_id)
        return None if row is None else self._rows[row]

    def of_project(self, project: str) -> Iterator[IndexedPattern]:
        """Yield the patterns that hold in a project, in no order."""
        return (one for one in list(self._rows) if one.project in {"", project})

    def best(self, vector: Vector | None, project: str, limit: int) -> list[Found]:
        """Return the patterns that are worth most in a project, the best first.

        The worth is the confidence, and with a vector confidence * (1 + likeness) / 2. Among equals those of the project
        itself come first, then the older ones.
        """
        rows = list(self._rows)  # a large team is searched in a thread, while changes go on
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
        # Patterns of one worth at the border are any of them: a team with thousands of equals asks for no order.
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
