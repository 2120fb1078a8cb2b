"""A process's stored answers for retries."""

import pytest

from baton.decide.service import LONGEST, REMEMBERED, RecentAnswers
from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Verdict
from baton.shared.decided import Decision, ModeInForce
from tests.support.cases import every

OFF = ModeInForce(enabled=False, level="", scope="")


def decision(**verdict):
    return Decision(id="d", verdict=Verdict(**verdict), mode=OFF, revision="r")


def call(**given):
    return ToolCall(client="codex", session_id="s", tool_name="Bash", tool_input=given)


def key(name):
    return ("acme", "ann", "s", name)


def test_an_answer_is_found_again_by_its_call():
    answers, given = RecentAnswers(), decision(effect="deny", reason="no")
    answers.keep(key(b"1"), call(command="ls"), given)
    assert answers.find(key(b"1")) is given
    assert answers.find(key(b"2")) is None


@every(
    ("given", "updated"),
    [
        ({"command": "x" * (LONGEST + 1)}, None),
        ({"command": ["ls"]}, None),
        ({}, {"content": "x" * LONGEST, "path": "a"}),
        ({}, {"edits": [{"old": "x"}]}),
        ({}, {"edits": {"old": "x"}}),
    ],
    ids=["long command", "command in words", "long input", "list in the input", "object in the input"],
)
def test_a_large_answer_is_not_kept_for_retries(given, updated):
    answers = RecentAnswers()
    answers.keep(key(b"1"), call(**given), decision(updated_input=updated))
    assert answers.find(key(b"1")) is None


@pytest.mark.parametrize("updated", [{"prompt": "p", "model": "haiku", "run_in_background": True, "n": 1, "x": None}])
def test_the_answer_of_a_rewritten_agent_call_is_kept(updated):
    answers = RecentAnswers()
    answers.keep(key(b"1"), call(prompt="p" * 10 * LONGEST), decision(effect="rewrite", updated_input=updated))
    assert answers.find(key(b"1")).verdict.updated_input == updated


def test_the_oldest_answers_make_room():
    answers = RecentAnswers()
    for number in range(REMEMBERED + 1):
        answers.keep(key(b"%d" % number), call(command="ls"), decision())
    assert [answers.find(key(b"%d" % number)) is None for number in (0, 1, REMEMBERED)] == [True, False, False]
