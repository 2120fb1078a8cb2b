"""What stops a line of the corpora stays what frozen.tsv says, until its row changes in the same commit."""

import pytest

from tests.judge.frozen import FILE, corpus, rows, written
from tests.support.shipped import shipped


@pytest.mark.parametrize("one_of", [10, pytest.param(1, marks=pytest.mark.slow("judges six thousand lines twice"))])
def test_every_line_is_stopped_by_the_rule_that_stopped_it_before(one_of):
    lines = list(corpus())[::one_of]
    wanted = {written(line) for line in lines}
    before = [row for row in FILE.read_text("utf-8").splitlines()[1:] if row.rpartition("\t")[2] in wanted]
    now = rows(shipped(), lines)
    gone, new = sorted(set(before) - set(now)), sorted(set(now) - set(before))
    assert not gone + new, "\n".join(
        ["`python -m tests.judge.frozen` writes the file; was:", *gone[:40], "is:", *new[:40]]
    )
