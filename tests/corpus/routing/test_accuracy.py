"""The router's accuracy on our own rosters and prompts. The bounds are well below the measured values.

`python -m tests.corpus.routing.report` prints the figures.
"""

import pytest
from msgspec.structs import replace

from baton.kernel.base.word_table import shared
from baton.lib.router.index import Index
from tests.corpus.routing.report import measure
from tests.corpus.routing.rosters_of import labelled, languages, negatives, rosters


@pytest.fixture(scope="module")
def measured():
    return measure()


def test_the_set_is_large_enough():
    assert len(labelled()) >= 150
    assert len(negatives()) >= 60
    known = {name: {agent.name for agent in agents} for name, agents in rosters().items()}
    assert all(agent in known[roster] for roster, agent, _ in labelled())


def test_the_right_agent_is_first_or_among_three(measured):
    assert measured.top_1 >= 0.75
    assert measured.top_3 >= 0.88


def test_a_text_names_the_right_agent_and_one_alone_almost_always(measured):
    assert measured.texts >= 0.65
    assert measured.hits >= 0.85
    assert measured.commands >= 0.40
    assert measured.right >= 0.92


def test_a_prompt_for_no_agent_gets_no_advice(measured):
    assert measured.auroc["far"] >= 0.96
    assert measured.false_texts["far"] <= 0.01
    assert measured.false_texts["foreign"] <= 0.05
    assert measured.false_texts["near"] <= 0.10
    assert measured.false_texts["follow"] == 0


@pytest.mark.slow("measures all prompts three times")
def test_an_example_for_each_agent_never_makes_it_worse():
    """Examples that say something new, and that say nothing new: no fewer prompts find their agent than without any."""
    table, found = shared(), rosters()
    prompts = labelled()
    by_agent = {}
    for number, (roster, agent, _) in enumerate(prompts):
        by_agent.setdefault((roster, agent), []).append(number)

    def first(example):
        right = 0
        for half in (0, 1):
            indexes = {
                name: Index([replace(one, examples=example(name, one, half)) for one in agents], table)
                for name, agents in found.items()
            }
            for number, (roster, agent, prompt) in enumerate(prompts):
                if number % 2 == half:
                    right += indexes[roster].names[indexes[roster].score(prompt)[0].agent] == agent
        return right

    def another_prompt(name, agent, half):
        others = [prompts[number][2] for number in by_agent.get((name, agent.name), []) if number % 2 != half]
        return tuple(others[:1])

    without = first(lambda *_: ())
    assert first(another_prompt) >= without
    assert first(lambda _, agent, __: (agent.description[:120],)) >= without


def test_a_prompt_in_another_language_finds_its_agent():
    index = Index(rosters()["ultrapower"], shared())
    rows = languages()
    assert {language for language, _, _ in rows} == {"de", "fr", "es", "pt", "zh", "ja", "ko"}
    found = [[index.names[one.agent] for one in index.score(prompt)] for _, _, prompt in rows]
    ranks = [names.index(agent) if agent in names else 9 for names, (_, agent, _) in zip(found, rows, strict=True)]
    assert sum(rank == 0 for rank in ranks) >= 0.7 * len(rows)
    assert sum(rank < 3 for rank in ranks) >= 0.9 * len(rows)


@pytest.mark.slow("measures all prompts again")
def test_words_alone_do_most_of_it():
    assert measure(with_table=False).top_1 >= 0.68
