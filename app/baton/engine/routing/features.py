"""The features by which an agent is scored for a prompt, their weights, and the confidence in the best agents."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
NAMES = ("bm_body", "cov_body", "wl_whole", "wl_body", "name_prec", "trigger", "action", "example")
"""`bm_body`: BM25F / 10. `cov_body`: share of the prompt's idf mass that the agent's text covers. `wl_whole`: cosine to
"name: description", `wl_body`: cosine to the body's beginning. `name_prec`: share of the name's words that the prompt
holds. `trigger`: the most telling trigger that matches, from 0 to 1. `action`: how far the agent does what the prompt
asks to have done. `example`: how near the prompt is to the nearest of the agent's examples."""


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """What each feature counts for, and the numbers of the confidence (`python -m tests.corpus.routing.fit` fits the latter).

    The `about_` numbers say whether a prompt is about what the roster does at all, the `right_` numbers whether the best
    agent is the right one if it is.
    """

    bm_body: float = 3.35
    cov_body: float = 2.71
    wl_whole: float = 5.82
    wl_body: float = 4.98
    name_prec: float = 0.74
    trigger: float = 4.0
    action: float = 0.6
    example: float = 1.5
    about_bias: float = -9.78
    about_best: float = 1.12
    about_field: float = 1.64
    about_agents: float = -1.58
    about_terms: float = 6.0
    right_bias: float = 0.32
    right_share: float = 0.81
    right_agents: float = -0.30

    @property
    def vector(self) -> Floats:
        """The features' weights, in the order of `NAMES`."""
        return np.array([getattr(self, name) for name in NAMES], dtype=np.float32)


DEFAULT = Weights()
COMPARED = 5
"""The best agents among which the share of each is reckoned, and whose scores make the field."""
_USUAL = 2.5
"""The score of agents behind the best, where a prompt is for one of the roster."""
_MIDDLING = 30
"""Agents of a roster of middling size, for which the sizes' numbers count nothing."""
_ALONE = 1.8
"""What words count for more where there is no table of vectors, so that scores stay in the range of the confidence."""
_LEAST_SHARE = 0.005
"""A share is taken for no less, nor for more than 1 minus it: no score makes an agent certain."""


class Extent(msgspec.Struct, frozen=True):
    """What scores depend on beside the agent: how many agents the roster has, and how many telling words the prompt.

    The same score means less among four hundred agents than among seven: an idf grows with the roster, and the best of
    many is good by chance. Of a prompt of one word, that word is met by chance.
    """

    agents: int
    terms: int

    @property
    def size(self) -> float:
        """The roster's size on a logarithmic scale, 0 for a middling one."""
        return math.log(max(1, self.agents) / _MIDDLING)


def by_words(weights: Weights) -> Weights:
    """Return the weights for agents that are compared by words alone."""
    return msgspec.structs.replace(
        weights,
        bm_body=_ALONE * weights.bm_body,
        cov_body=_ALONE * weights.cov_body,
        wl_whole=0.0,
        wl_body=0.0,
        example=0.0,
    )


def about_inputs(scores: Sequence[float], extent: Extent) -> tuple[float, ...]:
    """Return what tells whether a prompt is about the roster, beside the bias; `scores` begin with the best."""
    return scores[0], field_of(scores), extent.size, math.log1p(extent.terms)


def right_inputs(share: float, extent: Extent) -> tuple[float, ...]:
    """Return what tells whether an agent is the right one, beside the bias."""
    share = min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE)
    return math.log(share / (1 - share)), extent.size


def about(weights: Weights, scores: Sequence[float], extent: Extent) -> float:
    """Return how likely a prompt is about what the roster's agents do; `scores` begin with the best."""
    best, field, size, terms = about_inputs(scores, extent)
    return sigmoid(
        weights.about_bias
        + weights.about_best * best
        + weights.about_field * field
        + weights.about_agents * size
        + weights.about_terms * terms
    )


def right(weights: Weights, share: float, extent: Extent) -> float:
    """Return how likely an agent of this share is the right one, if the prompt is about the roster."""
    odds, size = right_inputs(share, extent)
    return sigmoid(weights.right_bias + weights.right_share * odds + weights.right_agents * size)


def chances(weights: Weights, scores: Sequence[float], extent: Extent) -> list[float]:
    """Return how likely each of the best agents is the right one, if the prompt is about the roster.

    What the best leaves is for the others, by their shares.
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
    """Return how well the agents behind the best score on average (the second to fifth of all), 0 for as usual.

    Where they do well, the prompt is about what the roster does, though it may be hard to tell for whom; where a single
    agent does, a word may have met it by chance.
    """
    behind = scores[1:COMPARED]
    return (sum(behind) / len(behind) if behind else 0.0) - _USUAL


def sigmoid(value: float) -> float:
    """Squash any number into 0 to 1, without overflow."""
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    power = math.exp(value)
    return power / (1 + power)
