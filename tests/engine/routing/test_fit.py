"""Weights fitted to feedback: with little of it they stay, with much they follow, and the report is honest."""

import numpy as np
import pytest

from baton.engine.routing.features import DEFAULT, NAMES
from baton.engine.routing.fit import Sample, fit, refit

BODY, NAME = NAMES.index("wl_body"), NAMES.index("name_prec")


def world(count, *, telling, seed=1):
    """Routes in which one feature alone tells the right agent; a seventh of them has none."""
    rng = np.random.default_rng(seed)
    samples = []
    for number in range(count):
        features = rng.random((6, len(NAMES))) * 0.3
        right = int(rng.integers(6)) if number % 7 else -1
        if right >= 0:
            features[right, telling] = 1.0
            features[(right + 1) % 6, BODY if telling != BODY else NAME] = 0.9
        samples.append(Sample(features.tolist(), right))
    return samples


def test_without_feedback_nothing_changes():
    assert fit([], DEFAULT) == DEFAULT


def test_a_feature_that_tells_gains_weight_and_more_routes_are_right():
    done = refit(world(200, telling=NAME), DEFAULT, 0.3)
    assert done.samples == 200
    assert done.weights.name_prec > DEFAULT.name_prec + 0.5
    assert done.after.top_1 > done.before.top_1 + 0.2
    assert done.after.log_loss < done.before.log_loss


def test_three_words_of_feedback_move_little():
    few = fit(world(4, telling=NAME), DEFAULT)
    much = fit(world(300, telling=NAME), DEFAULT)
    assert abs(few.name_prec - DEFAULT.name_prec) < 0.5 * abs(much.name_prec - DEFAULT.name_prec)


def test_a_right_agent_that_was_not_seen_only_lowers_the_confidence():
    unseen = [Sample(one.features, -1, known=False) for one in world(60, telling=BODY)]
    fitted = fit(unseen, DEFAULT)
    assert fitted.vector.tolist() == pytest.approx(DEFAULT.vector.tolist())
    assert fitted.right_bias < DEFAULT.right_bias


def test_what_is_for_no_agent_lowers_how_likely_a_prompt_is_about_the_roster_and_not_who_is_right():
    nobody = [Sample(one.features, -1) for one in world(60, telling=BODY)]
    fitted = fit(nobody, DEFAULT)
    assert fitted.about_bias < DEFAULT.about_bias
    assert (fitted.right_bias, fitted.right_share) == (DEFAULT.right_bias, DEFAULT.right_share)
