"""How often the router is right on rosters and prompts of our own. The bounds lie well below what is measured.

`python -m tests.routing.report` prints the figures.
"""

import pytest

from tests.corpus.routing.report import measure
from tests.corpus.routing.rosters_of import labelled, negatives, rosters


@pytest.fixture(scope="module")
def measured():
    return measure()


def test_the_set_is_large_enough_to_say_something():
    assert len(labelled()) >= 150
    assert len(negatives()) >= 60
    known = {name: {agent.name for agent in agents} for name, agents in rosters().items()}
    assert all(agent in known[roster] for roster, agent, _ in labelled())


def test_the_right_agent_is_first_or_among_three(measured):
    assert measured.top_1 >= 0.75
    assert measured.top_3 >= 0.88


def test_what_is_chosen_is_right(measured):
    assert measured.coverage >= 0.35
    assert measured.precision >= 0.90


def test_what_is_for_no_agent_is_left_alone(measured):
    assert measured.auroc["far"] >= 0.93
    assert measured.false_routes["far"] <= 0.02
    assert measured.false_routes["near"] <= 0.10


def test_words_alone_do_most_of_it():
    assert measure(with_table=False).top_1 >= 0.68
