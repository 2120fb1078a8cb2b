"""BM25F over the terms of agents: how much of a prompt an agent's words cover.

BM25F: Robertson, Zaragoza, Taylor, "Simple BM25 extension to multiple weighted fields" (CIKM 2004). What depends on the
agents alone is computed when the index is built, so that a prompt costs two sums.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

K1, B = 1.5, 0.75
RELATED = 0.5
"""What a term counts that is only related to one of the prompt."""
Floats = NDArray[np.float32]


_NONE = np.zeros(0, dtype=np.float32)


class Lexical(msgspec.Struct, frozen=True):
    """What words say of each agent: its BM25F, and the share of the prompt's idf mass that its text covers.

    The rest says which of the prompt's known terms gave which agent how much: three arrays of one length.
    """

    bm25: Floats
    coverage: Floats
    agents: NDArray[Any] = _NONE
    gains: Floats = _NONE
    rows: NDArray[Any] = _NONE
    terms: list[str] = []

    def best_terms(self, agent: int, most: int) -> list[str]:
        """Return the terms that contributed most to an agent's score."""
        found = np.flatnonzero(self.agents == agent)
        order = found[np.argsort(-self.gains[found], kind="stable")][:most]
        return [self.terms[row] for row in self.rows[order].tolist()]


class Lexicon:
    """The terms of a roster's agents, as postings in three flat arrays."""

    def __init__(self, counted: Sequence[Mapping[str, float]]) -> None:
        """Index agents, each as its terms with their weighted counts."""
        self.size = len(counted)
        lengths = np.array([sum(one.values()) for one in counted] or [0.0], dtype=np.float32)
        norms = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1e-9))
        postings: dict[str, list[tuple[int, float]]] = {}
        for number, one in enumerate(counted):
            for term, count in one.items():
                postings.setdefault(term, []).append((number, count))
        self._rows = {term: row for row, term in enumerate(postings)}
        self._parts: list[slice[int, int, None]] = []
        total = sum(map(len, postings.values()))
        self._agents = np.empty(total, dtype=np.uint16 if self.size <= 1 << 16 else np.uint32)
        self._gains = np.empty(total, dtype=np.float32)
        self._idf = np.empty(len(postings), dtype=np.float32)
        at = 0
        for row, found in enumerate(postings.values()):
            numbers = np.array([number for number, _ in found])
            frequency = np.array([count for _, count in found], dtype=np.float32)
            end = at + len(found)
            self._idf[row] = self.idf(len(found))
            self._agents[at:end] = numbers
            self._gains[at:end] = self._idf[row] * frequency * (K1 + 1) / (frequency + norms[numbers])
            self._parts.append(slice(at, end))
            at = end

    def has(self, term: str) -> bool:
        """Return whether an agent has a term."""
        return term in self._rows

    def idf(self, frequency: int) -> float:
        """Return the inverse document frequency of a term that so many agents have."""
        return float(np.log1p((self.size - frequency + 0.5) / (frequency + 0.5)))

    def score(self, terms: Sequence[str], related: Sequence[str] = ()) -> Lexical:
        """Score every agent for a prompt's terms; each counts once, and terms that are only related count half."""
        unique = dict.fromkeys(terms)
        known = [term for term in unique if term in self._rows]
        beside = [term for term in related if term in self._rows]
        rows = [self._rows[term] for term in (*known, *beside)]
        if not rows:
            none = np.zeros(self.size, dtype=np.float32)
            return Lexical(none, none)
        parts = [self._parts[row] for row in rows]
        sizes = [part.stop - part.start for part in parts]
        own = sum(sizes[: len(known)])
        numbers = np.concatenate([self._agents[part] for part in parts], dtype=np.intp)
        gains = np.concatenate([self._gains[part] for part in parts])
        gains[own:] *= RELATED
        idf = self._idf[rows[: len(known)]]
        mass = float(idf.sum()) + (len(unique) - len(known)) * self.idf(0)
        bm25 = np.bincount(numbers, weights=gains, minlength=self.size)
        covered = np.bincount(numbers[:own], weights=np.repeat(idf, sizes[: len(known)]), minlength=self.size)
        return Lexical(
            bm25.astype(np.float32),
            (covered / mass).astype(np.float32) if mass else np.zeros(self.size, dtype=np.float32),
            numbers[:own],
            gains[:own],
            np.repeat(np.arange(len(known), dtype=np.uint16), sizes[: len(known)]),
            known,
        )


def weighted(fields: Sequence[tuple[float, Sequence[str]]]) -> dict[str, float]:
    """Count the terms of an agent's fields, each field with its weight."""
    found: dict[str, float] = {}
    for weight, terms in fields:
        for term, count in Counter(terms).items():
            found[term] = found.get(term, 0.0) + weight * count
    return found
