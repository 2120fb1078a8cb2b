"""The built-in evaluator: which patterns concern a file, and what violates them."""

import pytest

from baton.context.compliance.evaluator import applicable, judge
from baton.context.compliance.languages import language_of
from baton.context.patterns.index import IndexedPattern
from baton.context.patterns.pattern import Check
from tests.support.patterns import pattern


def indexed(*patterns):
    return [IndexedPattern.of(one) for one in patterns]


@pytest.mark.parametrize(
    ("check", "text", "whole", "violated"),
    [
        (Check(forbidden=r"\beval\("), "x = eval(y)", False, True),
        (Check(forbidden=r"\beval\("), "x = 1", False, False),
        (Check(forbidden="é"), "caf\u00e9", False, True),
        (Check(when=r"requests\.get\(", wanted="timeout="), "requests.get(u)", False, True),
        (Check(when=r"requests\.get\(", wanted="timeout="), "requests.get(u, timeout=3)", False, False),
        (Check(when=r"requests\.get\(", wanted="timeout="), "x = 1", True, None),
        (Check(wanted="^# Copyright"), "x = 1", True, True),
        (Check(wanted="^# Copyright"), "# Copyright", True, False),
        (Check(wanted="^# Copyright"), "x = 1", False, None),
        (Check(when="(?m)^def ", forbidden="print"), "print()", False, None),
        (Check(when="(?m)^def ", forbidden="print"), "x\ndef f(): print()", False, True),
        (Check(), "anything", True, None),
    ],
)
def test_what_violates_a_check(check, text, whole, violated):
    found = judge(indexed(pattern(check=check)), text, whole=whole)
    assert [one.violated for one in found] == ([] if violated is None else [violated])


def test_the_surest_patterns_that_concern_a_file_come_first():
    found = applicable(
        indexed(
            pattern("a", confidence=0.7),
            pattern("b", confidence=0.9, language="python"),
            pattern("c", confidence=0.8, globs=("src/**",)),
            pattern("d", language="go"),
            pattern("e", globs=("tests/**",)),
        ),
        "src/shop/cart.py",
    )
    assert [one.id for one in found] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("path", "language"),
    [("a/b.PY", "python"), ("x.tsx", "typescript"), ("Dockerfile", "dockerfile"), ("Makefile", "make"), ("a.xyz", ""), ("", "")],
)  # fmt: skip
def test_the_language_of_a_file(path, language):
    assert language_of(path) == language
