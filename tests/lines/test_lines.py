"""Every row of tests/lines is read and judged as it says."""

import pytest

from tests.lines import corpus
from tests.support.cases import every
from tests.support.shipped import shipped


@pytest.mark.parametrize("topic", sorted({row.topic for row in corpus.rows()}))
def test_each_row_has_its_expected_verdict(topic):
    wrong = [
        f"{row.where}\n    {'; '.join(found) or 'the known gap is closed: remove `gap`'}"
        for row in corpus.rows(topic)
        if bool(found := corpus.faults(shipped(), row)) is not row.known.gap
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_no_call_is_judged_twice_in_one_mode():
    seen, twice = {}, []
    for row in corpus.rows():
        known = row.known
        for mode in corpus.MODES.get(row.mode, (row.mode,)):
            call = (
                row.line,
                repr(known.input),
                known.cwd,
                known.who,
                known.history,
                known.installed,
                known.packs,
                mode,
            )
            if call in seen:
                twice.append(f"{row.where} [{mode}], also {seen[call]}")
            seen[call] = row.where
    assert not twice, "\n".join(twice)


def test_every_shipped_rule_decides_a_row():
    optional = ("options/", "packs/")
    missing = {rule.id for rule in shipped().rules if not rule.id.startswith(optional)}
    missing -= {row.rule for row in corpus.rows() if not row.known.gap}  # that it does is checked with its verdict
    for row in sorted(corpus.rows(), key=lambda row: row.topic not in corpus.ATTACKS):  # whose rules are not named
        for mode in corpus.MODES.get(row.mode, (row.mode,)) if missing else ():
            missing.discard(corpus.judged(shipped(), row, mode).rule)
    assert not missing


@every(
    ("text", "line", "mode", "verdict", "rule"),
    [
        ("ls\tany\tallow", "ls", "any", "allow", ""),
        ("echo a␉b⏎ls␀\toff\tdeny\tguardrails/x", "echo a\tb\nls\0", "off", "deny", "guardrails/x"),
        ("printf 'a\\n'\t", "printf 'a\\n'", "", "", ""),
    ],
)
def test_writing_a_row_equals_its_source(text, line, mode, verdict, rule):
    (row,) = corpus.parse("x", f"# section\n{text}\n")
    assert (row.line, row.mode, row.verdict, row.rule, row.number) == (line, mode, verdict, rule, 2)
    assert corpus.written(row) == text


def test_a_wrong_row_names_its_place_and_both_verdicts():
    (row,) = corpus.parse("x", "# section\n\nrm -rf /\toff\task\tguardrails/other")
    assert row.where == "tests/lines/x.tsv:3: rm -rf /"
    assert corpus.faults(shipped(), row) == ["mode off: expected ask guardrails/other, got deny guardrails/remove-root"]
