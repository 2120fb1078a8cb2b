"""The features by which an agent is scored for a prompt, their weights, and the confidence in the best agent."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
NAMES = ("bm_body", "cov_body", "wl_whole", "wl_body", "name_prec", "trigger", "action")
"""`bm_body`: BM25F / 10. `cov_body`: share of the prompt's idf mass that the agent's text covers. `wl_whole`: cosine to
"name: description" or to an example, `wl_body`: cosine to the body's beginning. `name_prec`: share of the name's words
that the prompt holds. `trigger`: the most telling trigger that matches, from 0 to 1. `action`: how far the agent does
what the prompt asks to have done."""


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """What each feature counts for, and the four numbers of the confidence. The defaults were fitted elsewhere."""

    bm_body: float = 3.35
    cov_body: float = 2.71
    wl_whole: float = 5.82
    wl_body: float = 4.98
    name_prec: float = 0.74
    trigger: float = 4.0
    action: float = 1.3
    bias: float = -4.3
    best: float = 0.326
    margin: float = 0.434
    field: float = 0.25

    @property
    def vector(self) -> Floats:
        """The features' weights, in the order of `NAMES`."""
        return np.array([getattr(self, name) for name in NAMES], dtype=np.float32)


DEFAULT = Weights()
_USUAL = 2.5
"""The score of agents behind the best, where a prompt is for one of the roster."""
_BEHIND = 4
_ALONE = 1.8
"""What words count for more where there is no table of vectors, so that scores stay in the range of the confidence."""


def by_words(weights: Weights) -> Weights:
    """Return the weights for agents that are compared by words alone."""
    return msgspec.structs.replace(
        weights, bm_body=_ALONE * weights.bm_body, cov_body=_ALONE * weights.cov_body, wl_whole=0.0, wl_body=0.0
    )


def confidence(weights: Weights, score: float, other: float, field: float) -> float:
    """Return how likely an agent of this score is right, given the best of the others and the field."""
    return sigmoid(weights.bias + weights.best * score + weights.margin * (score - other) + weights.field * field)


def field_of(scores: Sequence[float]) -> float:
    """Return how well the agents behind the best score (the second to fifth of all), 0 for as usual.

    Where they do well, the prompt is about what the roster does, though it may be hard to tell for whom; where a single
    agent does, a word may have met it by chance.
    """
    return sum(score - _USUAL for score in scores[1 : _BEHIND + 1]) / _BEHIND


def sigmoid(value: float) -> float:
    """Squash any number into 0 to 1, without overflow."""
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    power = math.exp(value)
    return power / (1 + power)
