"""Calls of tools that are not Bash, look-ups, and writes in strict mode."""

from tests.judge.corpus import ALLOWS, entries, judged
from tests.support.cases import listed
from tests.support.shipped import shipped

ENTRIES = [one for one in entries() if one.part == "tools"]


def test_each_call_has_the_verdict_that_is_wanted():
    policies = shipped()
    wrong = {}
    for one in ENTRIES:
        found = judged(policies, one)
        effect = "allow" if found.effect in ALLOWS else found.effect
        if effect not in one.want or (one.rule and found.rule != one.rule):
            wrong[f"{one.kind}: {one.name}"] = f"{found.effect} {found.rule}"
    assert not wrong, listed(wrong)


def test_the_list_is_large_and_has_harmless_neighbours():
    assert len(ENTRIES) >= 250
    assert sum(not one.stops for one in ENTRIES) >= 100
