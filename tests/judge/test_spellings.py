"""The same harm by programs that agents seldom use: each is stopped by the rule that speaks about it."""

from pathlib import Path

import yaml

from tests.judge.corpus import judged, of_line
from tests.support.cases import listed
from tests.support.shipped import shipped

LINES = yaml.load((Path(__file__).parent / "spellings.yaml").read_text(), yaml.CSafeLoader)


def test_each_line_has_the_verdict_that_is_wanted():
    wrong = {}
    for one in LINES:
        found = judged(shipped(), of_line(one["line"]))
        if found.effect not in one["want"] or found.rule != one["rule"]:
            wrong[one["line"]] = f"{found.effect} {found.rule}"
    assert not wrong, listed(wrong)
