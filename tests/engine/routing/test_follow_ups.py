"""Prompts that name no work of their own, and short ones that do."""

import pytest

from baton.engine.routing.follow_ups import LONGEST, is_follow_up


@pytest.mark.parametrize(
    "prompt",
    [
        "yes, do it",
        "ok go on",
        "now the same for the second file",
        "great, commit it",
        "why did you do that?",
        "that didn't work",
        "still broken",
        "thanks a lot!",
        "option 2",
        "ja, mach weiter",
        "oui, merci",
        "sí, hazlo",
        "sim, pode continuar",
        "好的 继续",
        "はい、続けて",
        "네, 계속해 주세요",
    ],
)
def test_what_goes_on_or_is_mere_talk_is_a_follow_up(prompt):
    assert is_follow_up(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "review PR 42",
        "fix the failing tests",
        "yes, and add tests for the parser",
        "why is the query so slow",
        "写单元测试",
        "テストを書いて",
        "테스트를 작성해 줘",
        "",
        "go on " * LONGEST,
    ],
)
def test_what_names_work_is_none(prompt):
    assert not is_follow_up(prompt)
