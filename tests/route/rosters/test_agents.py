"""Arriving agents: namesakes, refusals, and names of content."""

import json

import pytest

from baton.kernel.base.errors import Invalid
from baton.lib.router.agents import Agent
from baton.route.prompt import InlineRoster
from baton.route.rosters.agents import (
    LONGEST_NAME,
    MOST_AGENTS,
    agents_in,
    check_agents,
    digest_of,
    first_of_each_name,
    inline_agents,
    policy_agents,
)
from baton.rules.agents.rosters import Roster, Row
from tests.support.cases import every

ONE, TWO = Agent(name="one", description="first"), Agent(name="two")
NAMESAKE = Agent(name="one", description="second")


def inline(agents):
    return InlineRoster(json.dumps(agents).encode(), "digest")


def test_the_first_of_two_namesakes_counts():
    assert first_of_each_name([ONE, TWO, NAMESAKE]) == [ONE, TWO]
    given = inline_agents(inline([{"name": " one ", "description": "first"}, {"name": "one", "description": None}]))
    assert given == [ONE]


@every(
    ("agents", "problem"),
    [
        ([{"name": "x" * (LONGEST_NAME + 1)}], f"`roster[0].name` has {LONGEST_NAME + 1} characters"),
        ([{"name": "one"}, {"name": "a\tb"}], "`roster[1].name` is blank, or holds characters"),
        ([{"name": "one", "triggers": ["/(/"]}], "`roster[0].triggers` `/(/` is not a regular expression"),
        ([{"name": "one", "body": 1}], "`roster[0].body` is wrong: expected `str | null`, got `int`"),
        ([{"name": str(number)} for number in range(MOST_AGENTS + 1)], f"at most {MOST_AGENTS} are allowed"),
    ],
)
def test_an_inline_roster_that_is_wrong_names_the_agent_and_its_field(agents, problem):
    with pytest.raises(Invalid) as refused:
        inline_agents(inline(agents))
    assert problem in str(refused.value)


def test_as_many_agents_as_are_allowed_are_taken():
    assert len(inline_agents(inline([{"name": str(number)} for number in range(MOST_AGENTS)]))) == MOST_AGENTS
    check_agents([Agent(name="x" * LONGEST_NAME)])


@pytest.mark.parametrize("agents", [[], [ONE, TWO, NAMESAKE]])
def test_a_push_without_agents_or_with_namesakes_is_refused(agents):
    with pytest.raises(Invalid):
        check_agents(agents)


def test_files_are_read_in_the_order_of_their_paths():
    files = {f"{name}.md": f"---\nname: {name}\ndescription: d\n---\nbody" for name in ("b", "a")}
    assert [agent.name for agent in agents_in(files)] == ["a", "b"]


def test_rows_with_an_underscore_are_no_agents():
    row = Row(description="d", prompt="p", triggers=["t"])
    table = Roster(id="r", description="d", agents={"_default": Row(), "one": row, "bare": None})
    assert policy_agents(table) == [Agent(name="one", description="d", body="p", triggers=("t",)), Agent(name="bare")]


def test_the_same_agents_have_the_same_digest_however_they_are_held():
    assert digest_of([ONE, TWO]) == digest_of((ONE, TWO)) != digest_of([TWO, ONE])


@every(
    ("agents", "why"),
    [
        ([Agent(name=str(n), body="word " * 3_900) for n in range(500)], "characters that are indexed"),
        ([Agent(name=str(n), examples=("say this " * 200,) * 10) for n in range(150)], "characters of examples"),
        ([Agent(name=str(n), triggers=tuple(f"/[a-z]{{200}}{m}/" for m in range(20))) for n in range(20)], "RE2"),
    ],
    ids=["texts", "examples", "expressions"],
)
def test_a_roster_that_would_take_minutes_is_refused_with_the_limit(agents, why):
    with pytest.raises(Invalid, match=why):
        check_agents(agents)


def test_a_thousand_agents_with_their_prompts_are_not_too_many():
    check_agents([Agent(name=str(n), body="word " * 1_500, description="d" * 400) for n in range(1_000)])
