"""The built-in evaluator: a file's patterns, and their violations."""

from baton.context.compliance.evaluator import applicable, judge, language_of
from baton.context.patterns.index import IndexedPattern
from baton.context.patterns.pattern import PatternCheck
from tests.support.cases import every
from tests.support.patterns import pattern


def indexed(*patterns):
    return [IndexedPattern.build(one) for one in patterns]


@every(
    ("check", "text", "whole", "violated"),
    [
        (PatternCheck(forbidden=r"\beval\("), "x = eval(y)", False, True),
        (PatternCheck(forbidden=r"\beval\("), "x = 1", False, False),
        (PatternCheck(forbidden="é"), "caf\u00e9", False, True),
        (PatternCheck(when=r"requests\.get\(", wanted="timeout="), "requests.get(u)", False, True),
        (PatternCheck(when=r"requests\.get\(", wanted="timeout="), "requests.get(u, timeout=3)", False, False),
        (PatternCheck(when=r"requests\.get\(", wanted="timeout="), "x = 1", True, None),
        (PatternCheck(wanted="^# Copyright"), "x = 1", True, True),
        (PatternCheck(wanted="^# Copyright"), "# Copyright", True, False),
        (PatternCheck(wanted="^# Copyright"), "x = 1", False, None),
        (PatternCheck(when="(?m)^def ", forbidden="print"), "print()", False, None),
        (PatternCheck(when="(?m)^def ", forbidden="print"), "x\ndef f(): print()", False, True),
        (PatternCheck(), "anything", True, None),
    ],
)
def test_violations_of_a_check(check, text, whole, violated):
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


@every(
    ("path", "language"),
    [("a/b.PY", "python"), ("x.tsx", "typescript"), ("Dockerfile", "dockerfile"), ("Makefile", "make"), ("a.xyz", ""), ("", "")],
)  # fmt: skip
def test_the_language_of_a_file(path, language):
    assert language_of(path) == language
