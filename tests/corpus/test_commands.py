"""The shipped tables agree with labels that were written without looking at them.

The first reading of all labels was right for 92.5 %; `heldout.tsv`, read once before anybody saw it, for 97.5 %;
1,684 further lines for 96.7 %, of which `heldout_second.tsv` keeps those that are new and of one opinion. What came
after that was learned from these lines, so the share below guards what was reached and measures nothing new.
"""

import pytest

from tests.corpus.judge import Verdict, judge, labels
from tests.corpus.report import table, wrong

# The measured level, rounded down; it may only rise.
RIGHT = 0.99
WRITES_RIGHT = 0.99


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return [judge(label) for label in labels()]


def test_the_corpus_is_large_and_mostly_of_one_opinion():
    every = list(labels())
    assert len(every) >= 1800
    assert sum(len(label.categories) > 1 for label in every) < 0.08 * len(every)
    assert len({label.command for label in every}) == len(every)


def test_categories_are_as_labelled(verdicts):
    right = sum(verdict.right for verdict in verdicts) / len(verdicts)
    print(table(verdicts))
    assert right >= RIGHT, "\n".join([*wrong(verdicts), table(verdicts)])


def test_written_paths_are_as_labelled(verdicts):
    judged = [verdict for verdict in verdicts if verdict.label.writes]
    right = sum(verdict.writes_right for verdict in judged) / len(judged)
    assert right >= WRITES_RIGHT, "\n".join(wrong(judged))


def test_nothing_harmful_passes_for_a_look(verdicts):
    assert [verdict.label.command for verdict in verdicts if verdict.dangerous] == []


def test_every_labelled_command_can_be_read(verdicts):
    assert [(one.label.command, one.unparsed) for one in verdicts if one.unparsed] == []
