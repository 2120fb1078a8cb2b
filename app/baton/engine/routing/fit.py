"""Fit the scorer's weights and its confidence to people's feedback on routes.

Both fits are regressions with a prior: with little feedback the weights stay close to the defaults.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from baton.engine.routing.features import (
    NAMES,
    Extent,
    Weights,
    about,
    about_inputs,
    right,
    right_inputs,
    shares_of,
)

LEAST = 20
"""Words of feedback below which a fit says nothing."""
FOLDS = 5
_STEPS = 25
_PRIOR_WEIGHT = 4.0
"""How many words of feedback the defaults are worth, about."""
_ABOUT = ("about_bias", "about_best", "about_field", "about_agents", "about_terms")
_ABOUT_SPREAD = np.array([2.0, 0.3, 0.4, 0.3, 0.5])
_RIGHT = ("right_bias", "right_share", "right_agents")
_RIGHT_SPREAD = np.array([1.0, 0.3, 0.1])
"""How far a team's confidence may lie from the defaults, about: of one team's rosters the sizes say little."""
Doubles = NDArray[np.float64]


class Sample(msgspec.Struct, frozen=True):
    """One route: the features of its agents, the best first, and which of them was right; -1 for none of them.

    `known` is False where the right agent is not among them: that says the best was wrong, and nothing else.
    """

    features: list[list[float]]
    right: int
    known: bool = True
    extent: Extent = Extent(30, 6)
    """Where it was not kept (routes of earlier versions), a middling one."""


class FitQuality(msgspec.Struct, frozen=True, kw_only=True):
    """How weights do on routes: shares from 0 to 1, and the mean log loss of the confidence (less is better)."""

    top_1: float
    false_routes: float
    log_loss: float


class Refit(msgspec.Struct, frozen=True, kw_only=True):
    """Fitted weights; `before` and `after` are judged on folds that their fits had not seen."""

    weights: Weights
    samples: int
    before: FitQuality
    after: FitQuality


def refit(samples: Sequence[Sample], current: Weights, threshold: float) -> Refit:
    """Fit to all samples, and judge the way of fitting on each fifth by what the other four give."""
    before, after = [], []
    for fold in range(FOLDS):
        held = [one for number, one in enumerate(samples) if number % FOLDS == fold]
        seen = [one for number, one in enumerate(samples) if number % FOLDS != fold]
        if held:
            fitted = fit(seen, current)
            before += [_outcome(one, current) for one in held]
            after += [_outcome(one, fitted) for one in held]
    return Refit(
        weights=fit(samples, current),
        samples=len(samples),
        before=_judged(before, threshold),
        after=_judged(after, threshold),
    )


def fit(samples: Sequence[Sample], prior: Weights) -> Weights:
    """Fit the features' weights by choice among the agents, then the confidence by whether the best was right."""
    start = _vector(prior)
    vector = _fit_choice([one for one in samples if one.right >= 0], start)
    fitted = msgspec.structs.replace(prior, **dict(zip(NAMES, map(float, vector), strict=True)))
    scored = [(one, np.array(one.features) @ vector) for one in samples]
    # What is for none of the agents says nothing of which agent would be right.
    meant = [(one, scores) for one, scores in scored if one.right >= 0 or not one.known]
    found = _fit_confidence(
        _ABOUT,
        _ABOUT_SPREAD,
        prior,
        [about_inputs(_ordered(scores), one.extent) for one, scores in scored],
        [one.right >= 0 or not one.known for one, _ in scored],
    )
    found |= _fit_confidence(
        _RIGHT,
        _RIGHT_SPREAD,
        prior,
        [right_inputs(shares_of(_ordered(scores))[0], one.extent) for one, scores in meant],
        [one.known and one.right == int(np.argmax(scores)) for one, scores in meant],
    )
    return msgspec.structs.replace(fitted, **found)


def _fit_confidence(
    names: Sequence[str], spread: Doubles, prior: Weights, inputs: Sequence[Sequence[float]], labels: Sequence[bool]
) -> dict[str, float]:
    """Fit one of the two logistic regressions of the confidence; the first of its numbers is the bias."""
    start = np.array([getattr(prior, name) for name in names])
    rows = np.array([(1.0, *one) for one in inputs]).reshape(-1, len(names))
    return dict(zip(names, map(float, _fit_logistic(rows, np.array(labels, dtype=float), start, spread)), strict=True))


def _fit_choice(samples: Sequence[Sample], start: Doubles) -> Doubles:
    """Maximise the likelihood of the right agents among the others, by Newton's steps."""
    spread = 0.5 * np.abs(start) + 0.1
    precision = np.diag(_PRIOR_WEIGHT / spread**2)
    vector = start.copy()
    for _ in range(_STEPS):
        gradient, curvature = -precision @ (vector - start), precision.copy()
        for one in samples:
            features = np.array(one.features)
            shares = _softmax(features @ vector)
            mean = shares @ features
            gradient += features[one.right] - mean
            curvature += (features * shares[:, None]).T @ features - np.outer(mean, mean)
        step = np.linalg.solve(curvature, gradient)
        vector = vector + step
        if float(np.abs(step).max()) < 1e-6:  # noqa: PLR2004 - far below what changes a choice
            break
    return _as_large(np.maximum(vector, 0.0), start, samples)


def _as_large(vector: Doubles, start: Doubles, samples: Sequence[Sample]) -> Doubles:
    """Scale weights so that the best scores are as large as they were: the confidence is made for that."""
    before = [float(np.max(np.array(one.features) @ start)) for one in samples]
    after = [float(np.max(np.array(one.features) @ vector)) for one in samples]
    scale = sum(before) / sum(after) if samples and sum(before) > 0 and sum(after) > 0 else 1.0
    scaled: Doubles = vector * scale
    return scaled


def _fit_logistic(rows: Doubles, labels: Doubles, start: Doubles, spread: Doubles) -> Doubles:
    precision = np.diag(1 / spread**2)
    vector = start.copy()
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-np.clip(rows @ vector, -30, 30)))
        gradient = rows.T @ (labels - shares) - precision @ (vector - start)
        curvature = (rows * (shares * (1 - shares))[:, None]).T @ rows + precision
        step = np.linalg.solve(curvature, gradient)
        vector = vector + step * min(1.0, 1.0 / max(1e-9, float(np.abs(rows @ step).max(initial=0.0))))
    return vector


def _scores(sample: Sample, weights: Weights) -> Doubles:
    scores: Doubles = np.array(sample.features) @ _vector(weights)
    return scores


def _vector(weights: Weights) -> Doubles:
    return np.array([getattr(weights, name) for name in NAMES], dtype=np.float64)


def _ordered(scores: Doubles) -> list[float]:
    return sorted(map(float, scores), reverse=True)


def _softmax(scores: Doubles) -> Doubles:
    powers = np.exp(scores - scores.max())
    shares: Doubles = powers / powers.sum()
    return shares


def _outcome(sample: Sample, weights: Weights) -> tuple[bool, bool, float]:
    """Return whether an agent was right at all, whether the best was it, and the confidence."""
    scores = _scores(sample, weights)
    ordered = _ordered(scores)
    sure = about(weights, ordered, sample.extent) * right(weights, shares_of(ordered)[0], sample.extent)
    found = sample.known and sample.right == int(np.argmax(scores))
    return sample.right >= 0 or not sample.known, found, sure


def _judged(outcomes: Sequence[tuple[bool, bool, float]], threshold: float) -> FitQuality:
    with_agent = [right for wanted, right, _ in outcomes if wanted]
    without = [sure >= threshold for wanted, _, sure in outcomes if not wanted]
    losses = [-np.log(max(sure if right else 1 - sure, 1e-9)) for _, right, sure in outcomes]
    return FitQuality(
        top_1=round(sum(with_agent) / max(1, len(with_agent)), 4),
        false_routes=round(sum(without) / max(1, len(without)), 4),
        log_loss=round(float(np.mean(losses)) if losses else 0.0, 4),
    )
