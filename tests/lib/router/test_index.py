"""The scorer on whole rosters: deterministic, stable, and robust against any input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.lib.router.agents import Agent
from baton.lib.router.features import DEFAULT, NAMES, Extent, about, field_of, right, shares_of, vector_of
from baton.lib.router.index import Index
from tests.support.cases import every

AGENTS = [
    Agent(name="kubernetes-operator", description="Runs clusters: pods, deployments, helm charts, ingress."),
    Agent(name="database-tuner", description="Makes slow SQL queries fast: indexes, query plans, vacuum."),
    Agent(name="test-writer", description="Writes unit and integration tests, repairs flaky ones."),
    Agent(name="copy-editor", description="Edits marketing texts, headlines and newsletters."),
    Agent(name="frontend-builder", description="Builds React components, CSS, responsive layouts."),
]
SURE = [
    ("the pods of our kubernetes deployment crash", "kubernetes-operator"),
    ("this sql query is slow, does it need an index", "database-tuner"),
    ("repair the flaky integration tests", "test-writer"),
    ("edit the headline of our marketing newsletter", "copy-editor"),
    ("build a responsive react component with css", "frontend-builder"),
]
UNRELATED = ["zebra grooming", "medieval falconry", "volcano tourism", "opera costumes", "beekeeping supplies"]


@pytest.fixture(scope="module")
def index(table):
    return Index(AGENTS, table)


def best(index, prompt):
    return index.names[index.score(prompt)[0].agent]


@every(("prompt", "agent"), SURE)
@every("with_table", [True, False])
def test_a_clear_prompt_finds_its_agent_with_and_without_the_table(table, prompt, agent, with_table):
    index = Index(AGENTS, table if with_table else None)
    found = index.score(prompt)[0]
    assert index.names[found.agent] == agent
    assert found.probability >= 0.3


@given(st.text(max_size=400))
def test_no_prompt_breaks_the_scorer_and_each_gets_the_same_answer_twice(index, prompt):
    first, second = index.score(prompt), index.score(prompt)
    assert first == second
    assert len(first) == 5
    assert all(0 <= one.probability <= 1 and np.isfinite(one.score) for one in first)
    assert [one.score for one in first] == sorted((one.score for one in first), reverse=True)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "\0\x01\x02",
        "\ud800",
        "\U0001f389" * 50,
        "\u202e\u0645\u0631\u062d\u0628\u0627",
        "x" * 1_000_000,
        "a " * 500_000,
    ],
)
def test_bad_input_gets_a_ranking(index, prompt):  # fmt: skip
    assert len(index.score(prompt)) == 5


@given(st.sampled_from(SURE), st.lists(st.sampled_from(UNRELATED), min_size=1, max_size=3, unique=True))
def test_unrelated_agents_do_not_change_a_sure_choice(table, sure, unrelated):
    prompt, agent = sure
    more = [Agent(name=text.replace(" ", "-"), description=f"All about {text}.") for text in unrelated]
    assert best(Index([*AGENTS, *more], table), prompt) == agent


@given(st.permutations(AGENTS), st.sampled_from(SURE))
def test_the_order_of_a_roster_does_not_matter(table, agents, sure):
    assert best(Index(agents, table), sure[0]) == sure[1]


def test_of_two_alike_the_first_by_name_wins():
    twins = [Agent(name="b", description="Deploys things."), Agent(name="a", description="Deploys things.")]
    index = Index(twins, None)
    names = [index.names[one.agent] for one in index.score("zzz")]
    assert names == ["a", "b"]


def test_an_example_and_a_trigger_speak_for_their_agent(table):
    plain = Agent(name="one", description="Helps with things.")
    with_example = Agent(name="two", description="Helps with things.", examples=("the invoice total is wrong",))
    assert best(Index([plain, with_example], table), "why is the total of this invoice wrong") == "two"
    with_trigger = Agent(name="three", description="Helps with things.", triggers=("/JIRA-\\d+/",))
    assert best(Index([plain, with_trigger], table), "look at JIRA-17") == "three"


@pytest.mark.parametrize(
    ("prompt", "agent"),
    [
        ("\u8bf7\u68c0\u67e5\u8fd9\u6bb5\u4ee3\u7801\u6709\u6ca1\u6709\u5b89\u5168\u6f0f\u6d1e", "guard"),
        ("\ub85c\uadf8\uc778\ud560 \ub54c \uc624\ub958\uac00 \ub098\uc694", "fixer"),
    ],
)
def test_a_prompt_without_spaces_between_words_meets_their_words(table, prompt, agent):
    agents = [
        Agent(name="fixer", description="\ub514\ubc84\uae45 \uc624\ub958 \uc608\uc678"),
        Agent(name="guard", description="\u4ee3\u7801\u5ba1\u67e5\uff0c\u5b89\u5168\u6f0f\u6d1e"),
        Agent(name="writer", description="\u6587\u6863\u7f16\u5199 \ubb38\uc11c"),
    ]
    assert best(Index(agents, None), prompt) == agent
    assert best(Index(agents, table), prompt) == agent


@every("agents", [[], [Agent(name="only", description="Writes tests.")], [Agent(name="bare")]])
def test_small_rosters_are_rosters(table, agents):
    assert len(Index(agents, table).score("write tests")) == len(agents)


def test_the_defaults_are_those_that_were_fitted():
    assert dict(zip(NAMES, vector_of(DEFAULT).round(2).tolist(), strict=True)) == pytest.approx(
        {
            "bm_body": 3.35,
            "cov_body": 2.71,
            "wl_whole": 5.82,
            "wl_body": 4.98,
            "name_prec": 0.74,
            "trigger": 4.0,
            "action": 0.6,
            "example": 1.5,
        }
    )


def test_the_shares_of_the_best_are_a_softmax_and_the_field_is_the_mean_of_those_behind():
    assert shares_of([2.0, 2.0]) == [0.5, 0.5]
    assert shares_of([1e9, 0.0])[0] == 1.0
    assert sum(shares_of([5, 4, 3, 2, 1, 0, 0])) == pytest.approx(1)
    assert field_of([9, 3.5, 2.5]) == pytest.approx(0.5)
    assert field_of([9]) == field_of([9, 0])


def test_confidence_grows_with_the_share_and_stays_a_probability():
    extent = Extent(30, 5)
    assert right(DEFAULT, 0.9, extent) > right(DEFAULT, 0.5, extent) > right(DEFAULT, 0.1, extent)
    assert 0 < right(DEFAULT, 0.0, extent) < right(DEFAULT, 1.0, extent) < 1
    assert about(DEFAULT, [1e9, 0], extent) == 1.0
    assert about(DEFAULT, [-1e9, 0], extent) == 0.0


def test_confidence_is_lower_in_large_rosters_and_for_one_word():
    scores = [5.0, 4.0, 4.0, 4.0, 4.0]
    assert about(DEFAULT, scores, Extent(400, 5)) < about(DEFAULT, scores, Extent(7, 5))
    assert about(DEFAULT, scores, Extent(30, 1)) < about(DEFAULT, scores, Extent(30, 8))
    assert right(DEFAULT, 0.5, Extent(400, 5)) < right(DEFAULT, 0.5, Extent(7, 5))


def test_a_prompt_that_several_agents_fit_is_surer_than_one_that_met_a_single_one_by_chance():
    extent = Extent(30, 5)
    assert about(DEFAULT, [4, 4, 4, 4, 4], extent) > about(DEFAULT, [4, 0, 0, 0, 0], extent)
