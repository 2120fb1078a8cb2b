"""The index of a roster: all facts about its agents computed before the first prompt.

Scoring is a handful of vector operations over all agents at once. An index is immutable, so threads may share it and
one assignment swaps it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import msgspec
import numpy as np
import re2
from numpy.typing import NDArray

from baton.lib.router.agents import Agent, Triggers, is_expression
from baton.lib.router.features import (
    COMPARED,
    DEFAULT,
    NAMES,
    Extent,
    Floats,
    Topics,
    Weights,
    about,
    by_words,
    chances,
    shares_of,
    vector_of,
)
from baton.lib.router.languages import in_english
from baton.lib.router.mentions import NOBODY, Mentioned, Mentions
from baton.lib.router.prompts import Actions, doing
from baton.lib.router.text import WORDS, bounded, name_parts, plain, read, stems, terms, wanted
from baton.lib.text.quoting import one_line

# BM25F over the terms of agents: how much of a prompt an agent's words cover.
#
# BM25F: Robertson, Zaragoza, Taylor, "Simple BM25 extension to multiple weighted fields" (CIKM 2004). All parts without
# the prompt are computed when the index is built, so that a prompt costs two sums.

K1, B = 1.5, 0.75
RELATED = 0.5  # what a term counts that is only related to one of the prompt


_NONE = np.zeros(0, dtype=np.float32)


class Lexical(msgspec.Struct, frozen=True):
    """The lexical scores of each agent: its BM25F, and the covered share of the prompt's idf mass.

    The rest are three arrays of one length: the prompt's known terms, their agents and scores.
    """

    bm25: Floats
    coverage: Floats
    agents: NDArray[Any] = _NONE
    gains: Floats = _NONE
    rows: NDArray[Any] = _NONE
    terms: list[str] = []

    def best_terms(self, agents: Sequence[int], most: int) -> list[list[str]]:
        """Return some agents' terms with the highest contributions to the score."""
        found: dict[int, list[tuple[float, int]]] = {agent: [] for agent in agents}
        at = np.flatnonzero(np.isin(self.agents, agents))
        for agent, gain, row in zip(
            self.agents[at].tolist(), self.gains[at].tolist(), self.rows[at].tolist(), strict=True
        ):
            found[agent].append((-gain, row))
        return [[self.terms[row] for _, row in sorted(found[agent])[:most]] for agent in agents]


class Lexicon:
    """The terms of a roster's agents, as postings in three flat arrays."""

    def __init__(self, counted: Sequence[Mapping[str, float]]) -> None:
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
        """Return a term's inverse document frequency, from its number of agents."""
        return float(np.log1p((self.size - frequency + 0.5) / (frequency + 0.5)))

    def score(self, terms: Sequence[str], related: Sequence[str] = ()) -> Lexical:
        """Score every agent for a prompt's terms. Each counts once, and related terms count half."""
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
    for weight, words in fields:
        for term, count in Counter(words).items():
            found[term] = found.get(term, 0.0) + weight * count
    return found


# A word's kind of work, in the words of agents' descriptions.
#
# People name the problem (`traceback`, `flaky`, `outage`), descriptions the trade fixing it (`debugging`,
# `testing`, `incident`). A word adds the trade's words, with less weight than a word of the prompt itself.


@lru_cache(maxsize=1)
def _by_term() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for trade, speaking in WORDS["kinds"].items():
        for term in terms(speaking):
            found.setdefault(term, {}).update(dict.fromkeys(terms(trade)))
    return {term: tuple(one for one in trades if one != term) for term, trades in found.items()}


def related(prompt_terms: list[str]) -> list[str]:
    """Return the trades' terms related to a prompt's terms but absent from it, each once."""
    kinds, own = _by_term(), set(prompt_terms)
    return [one for one in dict.fromkeys(t for term in own & kinds.keys() for t in kinds[term]) if one not in own]


# Example prompts of agents, and a prompt's similarity to them.
#
# They are a feature of their own: as words of the description they would lengthen it and bring everybody's words into it,
# and as its vector they would win against descriptions merely for being short.

ALIKE = 0.6  # the cosine above which a prompt says nearly what an example says
_SURE = 4.0  # how many times more each step of nearness counts from there on


class Examples:
    """The examples of a roster's agents, as vectors."""

    def __init__(self, examples: Sequence[Sequence[Floats]]) -> None:
        self._size = len(examples)
        rows = [(number, vector) for number, vectors in enumerate(examples) for vector in vectors]
        self._agents = np.array([number for number, _ in rows], dtype=np.intp)
        self._vectors = np.stack([vector for _, vector in rows]) if rows else None

    def score(self, prompt: Floats) -> Floats:
        """Return each agent's similarity of its nearest example to the prompt, relative to agents without one, with 0.

        An agent without an example counts as one with an example of average similarity. So having none is no
        disadvantage, and having one is no merit by itself.
        """
        found = np.zeros(self._size, dtype=np.float32)
        if self._vectors is None:
            return found
        nearest = np.full(self._size, -np.inf, dtype=np.float32)
        np.maximum.at(nearest, self._agents, np.vecdot(self._vectors, prompt))
        has = np.isfinite(nearest)
        near = nearest[has]
        found[has] = near - near.mean() + _SURE * np.maximum(0, near - ALIKE)
        return found


LONGEST_BODY = 20_000  # characters of an agent's body whose words are indexed
EMBEDDED_BODY = 1_200  # characters of an agent's body that its vector stands for
LONGEST_DESCRIPTION = 8_000
LONGEST_SHOWN = 240  # characters of a description that are shown
MOST_EXAMPLES = 20
MOST_CANDIDATES = COMPARED
MOST_WORDS = 4
ALIKE_DESCRIPTIONS, ALIKE_MEANINGS = 0.6, 0.9  # shared words and cosine from which two agents count as described alike
# RE2: a description with a thousand unclosed examples would take quadratic time otherwise.
_EXAMPLE = re2.compile(r"(?is)<example>(.*?)</example>")
_SAID = re2.compile(r"(?is)\b(?:user|human)\s*:\s*[\"“'](.+?)[\"”'](\s*(?:\n|<|assistant|\z))")
_LONGEST_EXAMPLE = 500  # characters of one example
LONGEST_EMBEDDED = 1_200  # characters of a description that the agent's vector stands for
_SHORTEST_DESCRIPTION = 40  # characters that a description must have without its examples to stand for itself

NAME_WEIGHT, DESCRIPTION_WEIGHT, BODY_WEIGHT = 2.0, 1.0, 0.3


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    def embed(self, text: str) -> Floats:
        """Embed a string."""
        ...


class AgentScore(msgspec.Struct, frozen=True):
    """One agent's part in a ranking. `features` are in the order of `features.NAMES`; `probability` is from 0 to 1.

    `words` are the prompt's words with the highest contributions, at most five.
    """

    agent: int
    score: float
    probability: float
    features: tuple[float, ...]
    words: tuple[str, ...] = ()


class Ranking(msgspec.Struct, frozen=True):
    """The best agents for a prompt, the best first. `about` is how likely the prompt is for one of the roster at all.

    `share` is the best agent's among those compared.
    """

    agents: list[AgentScore]
    about: float
    extent: Extent
    share: float = 0.0
    mentioned: Mentioned = NOBODY


class AgentReading:
    """An index's data of one agent: its counted words, and its vectors.

    This is the costly part. It depends on the agent alone, so all indexes of the agent share it.
    """

    __slots__ = ("body", "described", "examples", "name", "said", "weighted", "whole")

    def __init__(self, agent: Agent, embedder: Embedder | None) -> None:
        texts = _Texts(agent)
        self.name = texts.name
        self.described = tuple(doing(stems(texts.description)))
        fields = texts.fields()
        self.said = frozenset(fields[1][1])
        self.weighted = weighted(fields)
        self.examples: list[Floats] = []
        if embedder is not None:
            self.whole = embedder.embed(texts.whole)
            self.body = embedder.embed(texts.body[:EMBEDDED_BODY])
            self.examples = [embedder.embed(text) for text in texts.examples]


class Index:
    """A roster, ready to be scored. Without an embedder the words alone are compared."""

    def __init__(
        self,
        agents: Sequence[Agent],
        embedder: Embedder | None,
        read_agent: Callable[[Agent, Embedder | None], AgentReading] = AgentReading,
    ) -> None:
        """Index agents; `read_agent` may know some of them already."""
        self.names = tuple(agent.name for agent in agents)
        self.descriptions = tuple(_shown(agent.description) for agent in agents)
        self.mentions = Mentions(self.names)
        # The rank by name, once: sorting by it makes ties fall the same way on every machine.
        self._ranks = np.argsort(np.argsort(np.array(self.names or ("",))[: len(agents)], kind="stable"))
        self._embedder = embedder
        texts = [read_agent(agent, embedder) for agent in agents]
        self._lexicon = Lexicon([one.weighted for one in texts])
        self._examples = Examples([one.examples for one in texts])
        self._said = [one.said for one in texts]
        self._named = [one.said.union(one.name) for one in texts]
        self._triggers = Triggers(agents)
        self._actions = Actions([(one.name, one.described) for one in texts])
        # Agents by the words of their names: a prompt has few words, a roster may have hundreds of names.
        named: dict[str, list[int]] = {}
        for number, one in enumerate(texts):
            for stem in set(one.name):
                named.setdefault(stem, []).append(number)
        self._name_stems = {stem: np.array(numbers) for stem, numbers in named.items()}
        self._name_sizes = np.array([max(1, len(set(one.name))) for one in texts] or [1], dtype=np.float32)
        if embedder is not None and agents:
            self._whole = np.stack([one.whole for one in texts])
            self._body = np.stack([one.body for one in texts])
            self._topics = Topics(embedder.embed, self._whole, self._body)

    def __len__(self) -> int:
        return len(self.names)

    def score(self, prompt: str, weights: Weights = DEFAULT, most: int = MOST_CANDIDATES) -> list[AgentScore]:
        """Rank agents for a prompt, the best first. Equal ones are sorted by name."""
        return self.rank(prompt, weights, most).agents

    def rank(self, prompt: str, weights: Weights = DEFAULT, most: int = MOST_CANDIDATES) -> Ranking:
        """Rank agents for a prompt, and say how likely it is for one of them at all."""
        if not self.names:
            return Ranking([], 0.0, Extent(0, 0))
        whole = bounded(prompt)
        mentioned = self.mentions.mentioned(whole)
        original = wanted(mentioned.without_idle(whole))
        text = in_english(original)
        reading = read(text)
        terms = reading.terms
        if text is not original:  # agents may be described in the prompt's own language
            own = [term for term in read(original).terms if self._lexicon.has(term)]
            terms = terms + own
            text = f"{text} {original}" if own else text
        lexical = self._lexicon.score(terms, related(terms))
        vector = None if self._embedder is None else self._embedder.embed(text)
        features = self._features(text, reading.stems, lexical, vector)
        if vector is None:
            weights = by_words(weights)
        scores = features @ vector_of(weights)
        order = np.lexsort((self._ranks, -scores))[: max(most, MOST_CANDIDATES)]
        ranked, said = scores[order].tolist(), set(terms)
        extent = Extent(
            len(self),
            len(said),
            features[order[:COMPARED]].tolist(),
            () if vector is None else self._topics.of(vector, features[:, 2], order[0]),
        )
        shares = [
            ranked[0] if self._twins(order[0], other, said) else score
            for other, score in zip(order[:COMPARED].tolist(), ranked, strict=False)
        ]
        likely = about(weights, ranked, extent) if ranked[0] > 0 else 0.0
        sure = chances(weights, shares, extent)
        spelled = dict(zip(reversed(reading.stems), reversed(reading.words), strict=True))
        numbers = order[:most].tolist()
        words = lexical.best_terms(numbers[:MOST_CANDIDATES], MOST_WORDS)
        agents = [
            AgentScore(
                number,
                ranked[place],
                likely * sure[place] if place < len(sure) else 0.0,
                tuple(features[number].tolist()),
                tuple(spelled.get(term, term) for term in words[place]) if place < len(words) else (),
            )
            for place, number in enumerate(numbers)
        ]
        return Ranking(agents, likely, extent, shares_of(shares)[0], mentioned)

    def _twins(self, best: int, other: int, said: set[str]) -> bool:
        """Return whether two agents are described alike, and no word of the prompt is the best one's alone."""
        one, two = self._said[best], self._said[other]
        alike = len(one & two) >= ALIKE_DESCRIPTIONS * len(one | two)
        if not alike and self._embedder is not None:
            alike = float(self._whole[best] @ self._whole[other]) >= ALIKE_MEANINGS
        return alike and said.isdisjoint(self._named[best] - self._named[other])

    def _features(self, text: str, prompt_stems: list[str], lexical: Lexical, vector: Floats | None) -> Floats:
        """Return every agent's features: one row an agent, one column a feature."""
        found = np.zeros((len(self), len(NAMES)), dtype=np.float32)
        found[:, 0] = lexical.bm25 / 10
        found[:, 1] = lexical.coverage
        if vector is not None:
            found[:, 2] = np.vecdot(self._whole, vector)
            found[:, 3] = np.vecdot(self._body, vector)
            found[:, 7] = self._examples.score(vector)
        for stem in self._name_stems.keys() & set(prompt_stems):
            found[self._name_stems[stem], 4] += 1
        found[:, 4] /= self._name_sizes
        found[:, 5] = self._triggers.score(text, prompt_stems)
        found[:, 6] = self._actions.score(prompt_stems)
        return found


class _Texts:
    """One agent's texts, cut to the indexed length. Examples from a description are separate."""

    def __init__(self, agent: Agent) -> None:
        description, examples = split_examples(plain(agent.description[:LONGEST_DESCRIPTION]))
        self.name = stems(" ".join(name_parts(agent.name)))
        self.description = description
        self.examples = [
            text[:_LONGEST_EXAMPLE] for text in (*agent.examples[:MOST_EXAMPLES], *examples) if text.strip()
        ][:MOST_EXAMPLES]
        self.body = plain(agent.body[:LONGEST_BODY]) or description
        self.whole = f"{agent.name}: {_without_examples(description)[:LONGEST_EMBEDDED]}"
        triggers = (trigger for trigger in agent.triggers if not is_expression(trigger))
        self._more = " ".join((*agent.capabilities, *triggers))

    def fields(self) -> list[tuple[float, list[str]]]:
        described = terms(f"{self.description} {self._more}")
        return [(NAME_WEIGHT, self.name), (DESCRIPTION_WEIGHT, described), (BODY_WEIGHT, terms(self.body))]


def _shown(description: str) -> str:
    """Return a description as shown to people and models: one line, without its examples."""
    return one_line(_without_examples(plain(description[:LONGEST_DESCRIPTION])), LONGEST_SHOWN)


def split_examples(description: str) -> tuple[str, list[str]]:
    """Separate a description from the prompts quoted in its examples. The rest of an example stays."""
    said = [match[1][:_LONGEST_EXAMPLE] for match in _SAID.finditer(description)]
    if not said:
        return description, []
    return str(_SAID.sub(r" \2", description)), said


def _without_examples(description: str) -> str:
    """Return a description without its examples, or all of it if little remains."""
    without = str(_EXAMPLE.sub(" ", description))
    return without if len(without.strip()) >= _SHORTEST_DESCRIPTION else description
