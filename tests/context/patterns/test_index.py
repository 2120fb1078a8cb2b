"""The index of one team's patterns: the most valuable ones, and added and removed rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from baton.context.patterns.index import IndexedPattern, TeamIndex
from baton.kernel.base.word_table import DIMENSIONS
from tests.support.patterns import pattern


def along(*axes):
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[list(axes)] = 1 / np.sqrt(len(axes))
    return vector


def index(*rows):
    found = TeamIndex()
    for one, vector in rows:
        found.put(IndexedPattern.build(one), vector)
    return found


def ids(found):
    return [one.pattern.id for one in found]


def test_without_a_prompt_the_surest_come_first_and_the_project_s_own_among_equals():
    held = index(
        (pattern("a", confidence=0.8), along(0)),
        (pattern("b", confidence=0.9), along(1)),
        (pattern("c", confidence=0.9, project="shop"), along(2)),
        (pattern("d", confidence=0.99, project="other"), along(3)),
    )
    assert ids(held.best(None, "shop", 5)) == ["c", "b", "a"]
    assert ids(held.best(None, "shop", 2)) == ["c", "b"]
    assert ids(held.best(None, "", 5)) == ["b", "a"]


def test_with_a_prompt_likeness_weighs_as_much_as_confidence():
    held = index((pattern("far", confidence=0.9), along(0)), (pattern("near", confidence=0.8), along(1)))
    found = held.best(along(1), "", 5)
    assert [(one.pattern.id, round(one.worth, 3), round(one.likeness, 3)) for one in found] == [
        ("near", 0.8, 1.0),
        ("far", 0.45, 0.0),
    ]


@given(st.lists(st.tuples(st.sampled_from("pd"), st.integers(0, 150), st.floats(0, 1)), max_size=400))
def test_the_index_equals_a_dictionary(changes):
    held, expected = TeamIndex(), {}
    for action, number, confidence in changes:
        if action == "p":
            expected[str(number)] = confidence
            held.put(IndexedPattern.build(pattern(str(number), confidence=confidence)), along(number))
        else:
            expected.pop(str(number), None)
            held.drop(str(number))
    assert len(held) == len(expected)
    assert sorted(ids(held.best(None, "", 1_000))) == sorted(expected)
    for number, confidence in expected.items():
        assert held.get(number).confidence == confidence
        nearest = max(held.best(along(int(number)), "", 1_000), key=lambda one: one.likeness)
        assert nearest.pattern.id == number
