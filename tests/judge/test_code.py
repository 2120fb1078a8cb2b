"""Code in the line: what it runs, removes, downloads and writes is stopped as if a shell did it; reading is allowed."""

import pytest

from tests.judge import corpus
from tests.support.cases import listed

ENTRIES = [entry for entry in corpus.entries() if entry.part == "code"]


@pytest.mark.parametrize("kind", sorted({entry.kind for entry in ENTRIES}))
def test_each_line_gets_the_decision_that_it_should(shipped, kind):
    wrong = {}
    for entry in ENTRIES:
        if entry.kind != kind:
            continue
        found = corpus.judged(shipped, entry)
        effect = "allow" if found.effect in corpus.ALLOWS else found.effect
        if effect not in entry.want or (entry.rule and found.rule != entry.rule):
            wrong[entry.name] = f"{effect} by {found.rule}, wanted {entry.want} by {entry.rule or 'any'}"
    assert not wrong, listed(wrong)


def test_a_third_of_the_lines_is_harmless():
    assert sum(not entry.stops for entry in ENTRIES) * 3 >= len(ENTRIES)
