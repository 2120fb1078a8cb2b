"""Lines as they stand in real projects are read, and stopped only where a guardrail must stop them.

`tests/judge/real/` labels each by what it does. The rates are those that hold for lines that nobody has seen; here, a line
that is missed or wrongly stopped is printed.
"""

import pytest

from baton.engine.shell.read import read
from tests.judge.corpus import READS, Real, judged, of_line, real, shipped
from tests.judge.run import RATES

LINES = real()
LABELS = {
    "read-only", "vcs-read", "test-or-build", "package-install", "file-write", "vcs-write", "network", "destructive",
    "mixed", "blocked",
}  # fmt: skip


@pytest.fixture(scope="module")
def policies():
    return shipped()


def stopped(policies, one: Real, mode: str) -> bool:
    return judged(policies, of_line(one.line, mode)).effect in ("deny", "ask")


def shown(found: list[Real]) -> str:
    return "\n".join(f"{one.theme}, {one.label}: {one.line!r}" for one in found)


def share(found: list[Real], of: list[Real]) -> tuple[float, str]:
    return len(found) / len(of), shown(found)


def test_the_corpus_is_large_and_varied():
    assert len(LINES) >= 2_500
    assert len({one.line for one in LINES}) == len(LINES)
    assert {one.label for one in LINES} == LABELS
    assert len({one.theme for one in LINES}) >= 12


def test_real_lines_can_be_read(policies):
    unread = [one for one in LINES if read(policies.tables, one.line).unparsed]
    rate, which = share(unread, LINES)
    assert rate <= RATES["unreadable"], which


def test_lines_name_many_programs(policies):
    assert len({program.name for one in LINES for program in read(policies.tables, one.line).programs}) >= 700


def test_harmless_lines_are_not_stopped_with_the_mode_off(policies):
    harmless = [one for one in LINES if one.label != "blocked"]
    rate, which = share([one for one in harmless if stopped(policies, one, "off")], harmless)
    assert rate <= RATES["nagged"], which


def test_lines_that_only_read_are_allowed_in_the_strict_mode(policies):
    reads = [one for one in LINES if one.label in READS]
    rate, which = share([one for one in reads if stopped(policies, one, "strict")], reads)
    assert rate <= RATES["refused"], which


def test_what_a_guardrail_must_stop_is_stopped(policies):
    blocked = [one for one in LINES if one.label == "blocked"]
    missed = [one for one in blocked if not stopped(policies, one, "off")]
    assert not missed, shown(missed)
