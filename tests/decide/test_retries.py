"""What a process keeps of its answers, for retries."""

import pytest

from baton.decide.retries import LARGEST, REMEMBERED, AnswerCache, may_leave, unpack
from baton.engine.call.verdict import Verdict
from baton.records.pipeline.decision import Decision, ModeInForce

OFF = ModeInForce(enabled=False, level="", scope="")


def decision(**verdict):
    return Decision(id="d", verdict=Verdict(**verdict), mode=OFF, revision="r")


def key(name):
    return ("acme", "ann", "s", name)


def test_an_answer_is_found_again_and_is_what_other_servers_read():
    answers, given = AnswerCache(), decision(effect="deny", reason="no")
    packed = answers.keep(key(b"1"), given)
    assert answers.find(key(b"1")) == unpack(packed) == given
    assert answers.find(key(b"2")) is None


@pytest.mark.parametrize(
    "verdict",
    [{"updated_input": {"content": "x" * LARGEST}}, {"reason": "half \ud800"}],
    ids=["too large", "text that cannot be packed"],
)
def test_what_is_not_kept_is_decided_again(verdict):
    answers = AnswerCache()
    assert answers.keep(key(b"1"), decision(**verdict)) is None
    assert answers.find(key(b"1")) is None


@pytest.mark.parametrize(
    ("verdict", "leaves"),
    [
        ({}, True),
        ({"effect": "deny", "reason": "`git push --force` is refused"}, True),
        ({"effect": "ask", "reason": "`$env:API_TOKEN = trombon` is asked about"}, False),
        ({"effect": "allow", "guidance": "instead of `API_TOKEN=trombon make`"}, False),
        ({"effect": "rewrite", "updated_input": {"prompt": "use ghp_" + "a1B2" * 9}}, False),
    ],
)
def test_an_answer_that_quotes_a_secret_stays_in_its_process(verdict, leaves):
    given = decision(**verdict)
    assert may_leave(given, AnswerCache().keep(key(b"1"), given), "ls") is leaves


def test_an_answer_about_a_command_with_a_secret_stays_in_its_process():
    given = decision(effect="deny", reason="`deploy` is refused")
    assert not may_leave(given, AnswerCache().keep(key(b"1"), given), "API_TOKEN=trombon deploy")


def test_the_oldest_answers_make_room():
    answers = AnswerCache()
    for number in range(REMEMBERED + 1):
        answers.keep(key(b"%d" % number), decision())
    assert [answers.find(key(b"%d" % number)) is None for number in (0, 1, REMEMBERED)] == [True, False, False]
