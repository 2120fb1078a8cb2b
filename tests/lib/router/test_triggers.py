"""Triggers are exact: by stems, by phrases in their order, by expressions; never by likeness."""

import pytest

from baton.lib.router.agents import Agent, Triggers, problem
from baton.lib.router.text import stems
from tests.support.cases import every


def telling(prompt, *triggers):
    found = Triggers([Agent(name=f"a{n}", triggers=(one,)) for n, one in enumerate(triggers)])
    return [round(float(x), 2) for x in found.score(prompt, stems(prompt))]


@every(
    ("trigger", "prompt", "expected"),
    [
        ("deploy", "we are deploying today", 0.2),
        ("deploy", "the depot", 0.0),
        ("test", "the rest of it", 0.0),
        ("code review", "a code review, please", 0.5),
        ("code review", "review the code", 0.0),
        ("CI/CD", "our ci/cd is slow", 0.5),
        ("/fix(es)? #\\d+/", "this Fixes #12", 1.0),
        ("/fix(es)? #\\d+/", "fix it", 0.0),
        ("/(((/", "(((", 0.0),
        ("", "anything", 0.0),
    ],
)
def test_a_trigger_matches_literally(trigger, prompt, expected):
    assert telling(prompt, trigger) == [expected]


def test_a_shared_trigger_counts_less():
    assert telling("deploy it", "deploy", "deploy", "ship") == [0.1, 0.1, 0.0]


def test_an_expression_s_time_is_limited():
    assert telling("a" * 3_000, "/(a+)+$/", "/(a|aa)+b/") == [1.0, 0.0]


@pytest.mark.parametrize(
    ("trigger", "wrong"), [("/(/", "not a regular expression: missing )"), (f"/{'x' * 300}/", "may have 300")]
)
def test_an_invalid_trigger_is_reported(trigger, wrong):
    assert wrong in problem(trigger)
    assert problem("deploy") == problem("/a|b/") == problem("deploy " * 100) == ""
