"""Splitting a string into words."""

from baton.lib.router.text import HEAD, TAIL, bounded, name_parts, plain, terms, words
from tests.support.cases import every


@every(
    ("text", "expected"),
    [
        ("JavaScript PayPal GraphQL iOS API Docs", ["javascript", "paypal", "graphql", "ios", "api", "docs"]),
        ("HTTPServer parseConfig", ["httpserver", "http", "server", "parseconfig", "parse", "config"]),
        ("snake_case kebab-case", ["snake", "case", "kebab", "case"]),
        ("C++ and C# and F#", ["c++", "and", "c#", "and", "f#"]),
        ("don't isn\u2019t we'll it's", ["do", "is", "we", "it"]),
        ("gr\u00fc\u00dfe \u0645\u0631\u062d\u0628\u0627", ["gr\u00fc\u00dfe", "\u0645\u0631\u062d\u0628\u0627"]),
        ("React\u30c6\u30b9\u30c8v2 \u4fee", ["react", "\u30c6\u30b9", "\u30b9\u30c8", "v2", "\u4fee"]),
        ("\U0001f525\U0001f525", []),
        ("x" * 41, []),
    ],
)  # fmt: skip
def test_words(text, expected):
    assert words(text) == expected


@every(
    ("one", "other"),
    [
        ("k8s", "kubernetes"),
        ("docs", "documentation"),
        ("deploying", "deploys"),
        ("Tests", "testing"),
        ("TS", "typescript"),
    ],
)
def test_synonyms_are_one_term(one, other):
    assert terms(one) == terms(other) != []


def test_words_without_meaning_are_no_terms():
    assert terms("please could you just do it for me, 2 + 2, a b") == []
    assert terms("write it in c") == ["write", "c"]


@every(
    ("name", "parts"),
    [("agent-code-reviewer", ("code", "reviewer")), ("omc:gitMaster", ("git", "master")), ("agent", ("agent",))],
)
def test_a_name_s_parts(name, parts):
    assert name_parts(name) == parts


def test_of_a_long_prompt_both_ends_are_read():
    text = bounded("start " + "x" * 50_000 + " end")
    assert len(text) == HEAD + TAIL + 1
    assert text.startswith("start")
    assert text.endswith("end")
    assert bounded("half \ud800 pair") == "half ? pair"
    assert plain("one\\ntwo") == "one\ntwo"
