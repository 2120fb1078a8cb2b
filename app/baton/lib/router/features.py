"""The features to score an agent for a prompt, their weights, and the confidence in the best agents."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from baton.lib.router.text import WORDS

Floats = NDArray[np.float32]
NAMES = ("bm_body", "cov_body", "wl_whole", "wl_body", "name_prec", "trigger", "action", "example")
"""`bm_body`: BM25F / 10. `cov_body`: share of the prompt's idf mass that the agent's text covers. `wl_whole`: cosine to
"name: description", `wl_body`: cosine to the body's beginning. `name_prec`: share of the name's words that the prompt
holds. `trigger`: the most telling trigger that matches, from 0 to 1. `action`: how far the agent does what the prompt
asks to have done. `example`: how near the prompt is to the nearest of the agent's examples."""


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """The features' weights, and the confidence's numbers as fitted by `python -m tests.corpus.routing.fit`.

    Attributes:
        about: Bias and weights of `about_inputs`: whether a prompt is about the roster's work.
        right: Bias and weights of `right_inputs`: whether the best agent is the right one if it is.
    """

    bm_body: float = 3.35
    cov_body: float = 2.71
    wl_whole: float = 5.82
    wl_body: float = 4.98
    name_prec: float = 0.74
    trigger: float = 4.0
    action: float = 0.6
    example: float = 1.5
    about: tuple[float, ...] = (-0.397, 0.925, 1.227, -1.528, 1.298, -0.967, 1.401, -6.319, 0.376, -3.507, -5.425)
    right: tuple[float, ...] = (0.479, 0.576, -0.236, 0.992, 0.103)


@lru_cache(maxsize=4)
def vector_of(weights: Weights) -> Floats:
    """Return the features' weights, in the order of `NAMES`."""
    return np.array([getattr(weights, name) for name in NAMES], dtype=np.float32)


_NAME, _ACTION = NAMES.index("name_prec"), NAMES.index("action")
DEFAULT = Weights()
COMPARED = 5  # the best agents among which the share of each is reckoned, and whose scores make the field
_USUAL = 2.5  # the score of agents behind the best, where a prompt is for one of the roster
_MIDDLING = 30  # agents of a roster of middling size, for which the sizes' numbers count nothing
_ALONE = 1.8
"""What words count for more where there is no table of vectors, so that scores stay in the range of the confidence."""
_LEAST_SHARE = 0.005  # a share is taken for no less, nor for more than 1 minus it: no score makes an agent certain


class Extent(msgspec.Struct, frozen=True):
    """The inputs of a confidence besides the scores.

    Attributes:
        agents: Agents of the roster: the best of four hundred is good by chance.
        terms: Informative words of the prompt: a single one matches by chance.
        rows: Features of the compared agents, the best first.
        domain: How far the prompt belongs to the roster's subjects, from `Topics.of`.
    """

    agents: int
    terms: int
    rows: Sequence[Sequence[float]] = ((0.0,) * len(NAMES),)
    domain: tuple[float, ...] = ()

    @property
    def size(self) -> float:
        """The roster's size on a logarithmic scale, 0 for a middling one."""
        return math.log(max(1, self.agents) / _MIDDLING)

    def lead(self, feature: str) -> float:
        """Return the best agent's lead over the others in a feature."""
        at = NAMES.index(feature)
        return self.rows[0][at] - max((row[at] for row in self.rows[1:COMPARED]), default=0.0)


# What prompts may be about. A roster covers some subjects; a prompt about the others is for none of its agents.
_NARROW, _COVERED, _FLOOR = 0.03, 0.1, 1e-3
USUAL_DOMAIN = (-0.095, -1.967, 0.084, 0.250)
"""`Topics.of` for a prompt of the roster's subjects: taken if there is no table of vectors."""


class Topics:
    """The subjects covered by a roster."""

    def __init__(self, embed: Callable[[str], Floats], whole: Floats, body: Floats) -> None:
        subjects = [WORDS[name].strip().splitlines() for name in ("software", "everyday")]
        self._software = len(subjects[0])
        self._vectors = np.stack([embed(line) for lines in subjects for line in lines])
        described = (whole @ self._vectors.T).max(axis=0)
        self._shares = np.exp((described - described.max()) / _COVERED)
        self._covered = np.maximum(described, (body @ self._vectors.T).max(axis=0))

    def of(self, prompt: Floats, described: Floats, best: int) -> tuple[float, ...]:
        """Return how far a prompt belongs to the roster's subjects.

        Args:
            prompt: The prompt's vector.
            described: Its cosine to each agent's description.
            best: The best agent's number.

        Returns:
            How much nearer an everyday subject is than any agent, the logarithm of the share of the prompt's subjects
                that
            the roster covers, how far one is uncovered, and the best agent's cosine.
        """
        near = self._vectors @ prompt
        shares = np.exp((near - near.max()) / _NARROW)
        return (
            float(near[self._software :].max() - described.max()),
            math.log(float(shares @ self._shares / shares.sum()) + _FLOOR),
            float((near - self._covered).max()),
            float(described[best]),
        )


def by_words(weights: Weights) -> Weights:
    """Return the weights for agents compared by words alone."""
    return msgspec.structs.replace(
        weights,
        bm_body=_ALONE * weights.bm_body,
        cov_body=_ALONE * weights.cov_body,
        wl_whole=0.0,
        wl_body=0.0,
        example=0.0,
    )


def about_inputs(scores: Sequence[float], extent: Extent) -> tuple[float, ...]:
    """Return the inputs for whether a prompt is about the roster. `scores` are sorted, the best first."""
    best = extent.rows[0]
    return (
        scores[0],
        field_of(scores),
        extent.size,
        math.log1p(extent.terms),
        best[_NAME],
        best[_ACTION],
        *(extent.domain or USUAL_DOMAIN),
    )


def right_inputs(share: float, extent: Extent) -> tuple[float, ...]:
    """Return the inputs for whether an agent is the right one."""
    share = min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE)
    return math.log(share / (1 - share)), extent.size, extent.lead("action"), extent.lead("name_prec")


def about(weights: Weights, scores: Sequence[float], extent: Extent) -> float:
    """Return the probability that a prompt is about the roster's work, from its `scores`, best first."""
    return _chance(weights.about, about_inputs(scores, extent))


def right(weights: Weights, share: float, extent: Extent) -> float:
    """Return how likely an agent of this share is the right one, if the prompt is about the roster."""
    return _chance(weights.right, right_inputs(share, extent))


def _chance(numbers: Sequence[float], inputs: Sequence[float]) -> float:
    return sigmoid(numbers[0] + sum(number * value for number, value in zip(numbers[1:], inputs, strict=True)))


def chances(weights: Weights, scores: Sequence[float], extent: Extent) -> list[float]:
    """Return each best agent's probability of being right, if the prompt is about the roster.

    The others share the rest.
    """
    shares = shares_of(scores)
    best = right(weights, shares[0], extent)
    rest = sum(shares[1:])
    return [best, *((1 - best) * share / rest for share in shares[1:])]


def shares_of(scores: Sequence[float]) -> list[float]:
    """Return the share of each of the best agents among them (a softmax), in the order of the scores."""
    powers = [math.exp(score - scores[0]) for score in scores[:COMPARED]]
    total = sum(powers)
    return [power / total for power in powers]


def field_of(scores: Sequence[float]) -> float:
    """Return the average score of the second to fifth agents of all, 0 for the usual score.

    If they score well, the prompt is about the roster's work, though the right agent may be unclear. If only one agent
    does, a word may have matched by chance.
    """
    behind = scores[1:COMPARED]
    return (sum(behind) / len(behind) if behind else 0.0) - _USUAL


def sigmoid(value: float) -> float:
    """Squash any number into 0 to 1, without overflow."""
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    power = math.exp(value)
    return power / (1 + power)
