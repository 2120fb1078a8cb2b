"""Lines as they stand in real projects are read, and stopped only where a guardrail must stop them.

`tests/judge/real/` labels each by what it does. The rates are those that hold for lines that nobody has seen; here, a line
that is missed or wrongly stopped is printed.
"""

from typing import NamedTuple

import pytest

from baton.engine.shell.read import read
from tests.judge.corpus import READS, Real, judged, of_line, real
from tests.judge.run import RATES
from tests.support.shipped import shipped

LINES = real()
LABELS = {
    "read-only", "vcs-read", "test-or-build", "package-install", "file-write", "vcs-write", "network", "destructive",
    "mixed", "blocked",
}  # fmt: skip


class Judged(NamedTuple):
    """A line with what was read of it, and whether it is stopped with the mode off and in the strict mode."""

    one: Real
    unparsed: str
    programs: frozenset[str]
    off: bool
    strict: bool


@pytest.fixture(scope="module")
def lines():
    policies = shipped()

    def stopped(one, mode):
        return judged(policies, of_line(one.line, mode)).effect in ("deny", "ask")

    found = []
    for one in LINES:
        shell = read(policies.tables, one.line)
        names = frozenset(program.name for program in shell.programs)
        strict = one.label in READS and stopped(one, "strict")
        found.append(Judged(one, shell.unparsed, names, stopped(one, "off"), strict))
    return found


def share(found: list[Judged], of: list[Judged]) -> tuple[float, str]:
    return len(found) / len(of), "\n".join(f"{each.one.theme}, {each.one.label}: {each.one.line!r}" for each in found)


def test_the_corpus_is_large_and_varied(lines):
    assert len(LINES) >= 2_500
    assert len({one.line for one in LINES}) == len(LINES)
    assert {one.label for one in LINES} == LABELS
    assert len({one.theme for one in LINES}) >= 12
    assert len(frozenset().union(*(each.programs for each in lines))) >= 700


def test_real_lines_can_be_read(lines):
    rate, which = share([each for each in lines if each.unparsed], lines)
    assert rate <= RATES["unreadable"], which


def test_harmless_lines_are_not_stopped_with_the_mode_off(lines):
    harmless = [each for each in lines if each.one.label != "blocked"]
    rate, which = share([each for each in harmless if each.off], harmless)
    assert rate <= RATES["nagged"], which


def test_lines_that_only_read_are_allowed_in_the_strict_mode(lines):
    reads = [each for each in lines if each.one.label in READS]
    rate, which = share([each for each in reads if each.strict], reads)
    assert rate <= RATES["refused"], which


def test_what_a_guardrail_must_stop_is_stopped(lines):
    blocked = [each for each in lines if each.one.label == "blocked"]
    _, which = share([each for each in blocked if not each.off], blocked)
    assert not which, which
