"""Prompts with several requests, and prompts with several words for one."""

from baton.lib.router.prompts import LONGEST, MOST, parts
from tests.support.cases import every


@every(
    ("prompt", "found"),
    [
        ("review the diff, then write unit tests", ["review the diff", "write unit tests"]),
        (
            "Review the diff of the parser. Write unit tests for it.",
            ["Review the diff of the parser", "Write unit tests for it."],
        ),
        ("- fix the login bug\n- document the API", ["- fix the login bug", "document the API"]),
        ("refactor the parser and please document its options", ["refactor the parser", "please document its options"]),
        ("检查代码。写单元测试", ["检查代码", "写单元测试"]),
    ],
)
def test_each_request_is_a_part(prompt, found):
    assert parts(prompt) == found


@every(
    "prompt",
    [
        "review the diff",
        "fix the carts, discounts and refunds",
        "the login and the logout are slow",
        "fix the bug. Thanks!",
        "",
        "review the diff. " * LONGEST,
    ],
)
def test_one_request_has_no_parts(prompt):
    assert parts(prompt) == []


def test_the_number_of_intents_is_limited_and_prose_has_none():
    assert len(parts("fix the login bug. " * (MOST + 2))) == MOST
    assert parts("fix the login bug. " * 20) == []
