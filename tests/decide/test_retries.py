"""What a process keeps of its answers, for retries."""

import pytest

from baton.decide.retries import LARGEST, REMEMBERED, AnswerCache, unpack
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


def test_the_oldest_answers_make_room():
    answers = AnswerCache()
    for number in range(REMEMBERED + 1):
        answers.keep(key(b"%d" % number), decision())
    assert [answers.find(key(b"%d" % number)) is None for number in (0, 1, REMEMBERED)] == [True, False, False]
