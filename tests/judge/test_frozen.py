"""What stops a line of the corpora stays what frozen.tsv says, until its row changes in the same commit."""

from tests.judge.frozen import FILE, rows
from tests.support.shipped import shipped


def test_every_line_is_stopped_by_the_rule_that_stopped_it_before():
    before = FILE.read_text(encoding="utf-8").splitlines()[1:]
    now = rows(shipped())
    gone, new = sorted(set(before) - set(now)), sorted(set(now) - set(before))
    assert not gone + new, "\n".join(
        ["`python -m tests.judge.frozen` writes the file; was:", *gone[:40], "is:", *new[:40]]
    )
