"""A prompt's requested action finds agents for it, whatever the prompt names besides."""

import msgspec
import pytest

from baton.lib.router.agents import Agent
from baton.lib.router.features import DEFAULT
from baton.lib.router.index import Index
from baton.lib.router.prompts import Actions, asked
from baton.lib.router.text import stems
from tests.support.cases import every

TEAM = [
    Agent(name="coder", description="Writes software in any language."),
    Agent(name="reviewer", description="Reads changes and says what is wrong with them."),
    Agent(name="tester", description="Tries software before users do."),
    Agent(name="documenter", description="Writes pages about APIs and modules."),
    Agent(name="researcher", description="Answers questions about technologies."),
    Agent(name="planner", description="Breaks work into steps."),
    Agent(name="refactorer", description="Restructures modules."),
    Agent(name="debugger", description="Finds causes."),
]


@every(
    ("prompt", "agent"),
    [
        ("Add a cache to the tests", "coder"),
        ("please review the API documentation", "reviewer"),
        ("cover the planner with unit tests", "tester"),
        ("Could you document how the code is tested?", "documenter"),
        ("compare the test runners", "researcher"),
        ("estimate the work on the documentation", "planner"),
        ("rename the helpers in the tests", "refactorer"),
        ("why does the API return null", "debugger"),
    ],
)
def test_the_first_request_decides_the_agent(prompt, agent):
    actions = Actions([(stems(one.name), stems(one.description)) for one in TEAM])
    assert TEAM[int(actions.score(stems(prompt)).argmax())].name == agent


@pytest.mark.parametrize(
    ("prompt", "agent"),
    [("Create a middleware that logs requests", "coder"), ("why does the API return null to some users", "debugger")],
)
def test_the_action_of_a_prompt_raises_the_right_agent_s_lead(table, prompt, agent):
    index, without = Index(TEAM, table), msgspec.structs.replace(DEFAULT, action=0.0)

    def lead(weights):
        scores = {index.names[one.agent]: one.score for one in index.score(prompt, weights, len(TEAM))}
        return scores.pop(agent) - max(scores.values())

    assert lead(DEFAULT) > lead(without)


def test_the_first_words_count_most_and_chatter_is_no_request():
    review_first, test_first = asked(stems("review the test")), asked(stems("test the review"))
    assert review_first.max() > test_first.min()
    assert review_first.argmax() != test_first.argmax()
    assert not asked(stems("how tall is the Eiffel tower")).any()
    assert not asked([]).any()


def test_a_long_prompt_asks_for_no_more_than_a_short_one():
    everything = "review test document plan research refactor optimize deploy secure design create fix " * 40
    assert asked(stems(everything)).sum() <= asked(stems("review")).sum() + 1


def test_an_action_of_all_agents_decides_nothing_and_none_is_accepted():
    reviewers = Actions([(stems(f"{name} reviewer"), []) for name in ("go", "rust", "java")])
    mixed = Actions([(stems(name), []) for name in ("go reviewer", "go tester", "go planner")])
    prompt = stems("review this")
    assert reviewers.score(prompt).max() < mixed.score(prompt).max()
    assert len(Actions([]).score(prompt)) == 0
