"""Agents that a prompt names, and words that only look like a name."""

import pytest

from baton.engine.routing.mentions import NOBODY, Mentions

NAMES = ("agent-debug", "code-reviewer", "test", "planner", "ultrapower:git-master", "Data Engineer", "agent-router")
MENTIONS = Mentions(NAMES)


def named(prompt):
    found = MENTIONS.find(prompt).asked
    return None if found is None else NAMES[found]


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("use agent-debug to find this", "agent-debug"),
        ("Use the agent debug for it", "agent-debug"),
        ("@agent-debug why does it crash", "agent-debug"),
        ("@agent-code-reviewer look at this", "code-reviewer"),
        ("please, @code-reviewer, look at this", "code-reviewer"),
        ("let the code reviewer agent have a look", "code-reviewer"),
        ("the planner agent should do it", "planner"),
        ("ask the planner subagent", "planner"),
        ("the `test` agent", "test"),
        ("use code-reviewer for this branch", "code-reviewer"),
        ("run ultrapower:git-master", "ultrapower:git-master"),
        ("ask git-master to squash", "ultrapower:git-master"),
        ("have the data engineer agent look", "Data Engineer"),
        ("ask the planner agent first, then @code-reviewer", "planner"),
        ("do not use agent-debug, use code-reviewer", "code-reviewer"),
        ("\u201cplanner\u201d agent, please", "planner"),
        ("fix it with the code reviewer agent", "code-reviewer"),
        ("edit my file, then let the planner agent write", "planner"),
    ],
)
def test_a_name_that_is_meant_is_found(prompt, name):
    assert named(prompt) == name


@pytest.mark.parametrize(
    "prompt",
    [
        "write a test",
        "run the test again",
        "the rest agent",
        "mail me at ann@test.example",
        "never use agent-debug",
        "don't use the planner agent",
        "work without the code-reviewer agent",
        "the user agent string is wrong",
        "Update the code-reviewer agent to look at tests too",
        "fix our `planner` subagent",
        "create a test agent",
        "who is your travel agent",
        "@",
        "agent",
        "use",
        "",
        "-" * 3_000 + " agent",
        "a-" * 1_500 + "agent",
    ],
)
def test_a_word_that_is_no_mention_is_none(prompt):
    assert named(prompt) is None


def test_a_roster_without_agents_has_no_mentions():
    assert Mentions(()).find("use agent-debug") == NOBODY
