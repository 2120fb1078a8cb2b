"""The index of a roster: everything about its agents that is computed before the first prompt.

Scoring is a handful of vector operations over all agents at once. Nothing in an index changes after it is built, so it
may be shared by threads and swapped by one assignment.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import numpy as np
import re2

from baton.engine.routing.actions import Actions, doing
from baton.engine.routing.bm25f import Lexical, Lexicon, weighted
from baton.engine.routing.candidates import Agent
from baton.engine.routing.examples import Examples
from baton.engine.routing.features import (
    COMPARED,
    DEFAULT,
    NAMES,
    Extent,
    Floats,
    Weights,
    about,
    by_words,
    chances,
)
from baton.engine.routing.kinds import related
from baton.engine.routing.triggers import Triggers, is_expression
from baton.engine.routing.words.languages import in_english
from baton.engine.routing.words.mentions import Mentions
from baton.engine.routing.words.text import bounded, name_parts, plain, read, stems, terms
from baton.engine.text.quoting import one_line

LONGEST_BODY = 20_000
"""Characters of an agent's body whose words are indexed."""
EMBEDDED_BODY = 1_200
"""Characters of an agent's body that its vector stands for."""
LONGEST_DESCRIPTION = 8_000
LONGEST_SHOWN = 240
"""Characters of a description that are shown."""
MOST_EXAMPLES = 20
MOST_CANDIDATES = COMPARED
MOST_WORDS = 4
# RE2, since a description that opens a thousand examples and closes none would take time quadratic in its length.
_EXAMPLE = re2.compile(r"(?is)<example>(.*?)</example>")
_SAID = re2.compile(r"(?is)\b(?:user|human)\s*:\s*[\"“'](.+?)[\"”'](\s*(?:\n|<|assistant|\z))")
_LONGEST_EXAMPLE = 500
"""Characters of one example."""
LONGEST_EMBEDDED = 1_200
"""Characters of a description that the agent's vector stands for."""
_SHORTEST_DESCRIPTION = 40
"""Characters that a description must have without its examples to stand for itself."""

NAME_WEIGHT, DESCRIPTION_WEIGHT, BODY_WEIGHT = 2.0, 1.0, 0.3


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    def embed(self, text: str) -> Floats:
        """Return a text's vector."""
        ...


class AgentScore(msgspec.Struct, frozen=True):
    """One agent's part in a ranking. `features` are in the order of `features.NAMES`; `probability` is from 0 to 1.

    `words` are those of the prompt that spoke for it most, of the first five.
    """

    agent: int
    score: float
    probability: float
    features: tuple[float, ...]
    words: tuple[str, ...] = ()


class Ranking(msgspec.Struct, frozen=True):
    """The best agents for a prompt, the best first. `about` is how likely the prompt is for one of the roster at all."""

    agents: list[AgentScore]
    about: float
    extent: Extent


class AgentReading:
    """What an index holds of one agent: its words, counted, and its vectors.

    This is what takes the time. It depends on the agent alone, so it is shared by all indexes that the agent is in.
    """

    __slots__ = ("body", "described", "examples", "name", "weighted", "whole")

    def __init__(self, agent: Agent, embedder: Embedder | None) -> None:
        texts = _Texts(agent)
        self.name = texts.name
        self.described = tuple(doing(stems(texts.description)))
        self.weighted = weighted(texts.fields())
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

    def __len__(self) -> int:
        return len(self.names)

    def score(self, prompt: str, weights: Weights = DEFAULT, most: int = MOST_CANDIDATES) -> list[AgentScore]:
        """Rank agents for a prompt, the best first; of two alike the one that comes first by name."""
        return self.rank(prompt, weights, most).agents

    def rank(self, prompt: str, weights: Weights = DEFAULT, most: int = MOST_CANDIDATES) -> Ranking:
        """Rank agents for a prompt, and say how likely it is for one of them at all."""
        if not self.names:
            return Ranking([], 0.0, Extent(0, 0))
        original = bounded(prompt)
        text = in_english(original)
        reading = read(text)
        terms = reading.terms
        if text is not original:  # agents may be described in the prompt's own language
            own = [term for term in read(original).terms if self._lexicon.has(term)]
            terms = terms + own
            text = f"{text} {original}" if own else text
        lexical = self._lexicon.score(terms, related(terms))
        features = self._features(text, reading.stems, lexical)
        if self._embedder is None:
            weights = by_words(weights)
        scores = features @ weights.vector
        order = np.lexsort((self._ranks, -scores))[: max(most, MOST_CANDIDATES)]
        ranked = scores[order].tolist()
        extent = Extent(len(self), len(set(terms)))
        likely, sure = about(weights, ranked, extent), chances(weights, ranked, extent)
        spelled = dict(zip(reversed(reading.stems), reversed(reading.words), strict=True))
        agents = [
            AgentScore(
                number,
                ranked[place],
                likely * sure[place] if place < len(sure) else 0.0,
                tuple(features[number].tolist()),
                tuple(spelled.get(term, term) for term in lexical.best_terms(number, MOST_WORDS))
                if place < MOST_CANDIDATES
                else (),
            )
            for place, number in enumerate(order[:most].tolist())
        ]
        return Ranking(agents, likely, extent)

    def _features(self, text: str, prompt_stems: list[str], lexical: Lexical) -> Floats:
        """Return every agent's features: one row an agent, one column a feature."""
        found = np.zeros((len(self), len(NAMES)), dtype=np.float32)
        found[:, 0] = lexical.bm25 / 10
        found[:, 1] = lexical.coverage
        if self._embedder is not None:
            vector = self._embedder.embed(text)
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
    """One agent's texts, cut to what is indexed; the examples that a description holds stand apart."""

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
    """Return what people and models are shown of a description: one line, without its examples."""
    return one_line(_without_examples(plain(description[:LONGEST_DESCRIPTION])), LONGEST_SHOWN)


def split_examples(description: str) -> tuple[str, list[str]]:
    """Part a description from the prompts that its examples quote; what else an example says stays in it."""
    said = [match[1][:_LONGEST_EXAMPLE] for match in _SAID.finditer(description)]
    if not said:
        return description, []
    return str(_SAID.sub(r" \2", description)), said


def _without_examples(description: str) -> str:
    """Return a description without its examples, for what it is about as a whole; all of it where little is left."""
    without = str(_EXAMPLE.sub(" ", description))
    return without if len(without.strip()) >= _SHORTEST_DESCRIPTION else description
