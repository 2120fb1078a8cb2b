"""Prompts without work of their own, and short ones with it."""

from baton.lib.router.prompts import LONGEST, is_follow_up, skip_reason, workflow_kind
from tests.support.cases import every


@every(
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
def test_continuations_and_talk_are_follow_ups(prompt):
    assert is_follow_up(prompt)


@every(
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
def test_a_prompt_naming_work_is_no_follow_up(prompt):
    assert not is_follow_up(prompt)


@every("prompt", ["automate this", "orchestrate it", "run all of them", "dispatch these please"])
def test_a_workflow_is_no_follow_up(prompt):
    assert workflow_kind(prompt)
    assert skip_reason(prompt) == ""
