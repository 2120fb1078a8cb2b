import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.lib.router.local_answers import DELEGATABLE, LONGEST_PROMPT, answer_text, classify, judge, savings
from tests.support.cases import every

LONG = "This function reads a number from a text and gives it back as it is. " * 3


@every(
    ("prompt", "intent", "delegatable"),
    [
        ("Write docs for a parser module", "document", True),
        ("Can you document this function?\n```\ndef f(x): return x\n```", "document", True),
        ("Write docstrings:\n\ndef a(x):\n    return x\n\ndef b(y):\n    return y", "document", True),
        ("Write a docstring for: def add(a, b): return a + b", "document", True),
        ("write unit tests for a parser of dates", "test", True),
        ("generate pytest tests for any function that adds two numbers", "test", True),
        ("explain how the event loop of Node.js works", "research", True),
        ("explain this:\n```\nopen('shot.png').read('/a/b/c')\n```", "research", True),
        ("what is a closure, and how does one use it?", "research", True),
        ("What is a closure?", "research", True),
        ("Summarise the differences between asyncio and threads", "research", True),
        ("fix the crash in the parser", "debug", False),
        ("implement a new endpoint", "implement", False),
        ("implement the parser and write docs", "document", False),
        ("write docs, then deploy it", "document", False),
        ("run the tests", "run", False),
        ("refactor the tests", "refactor", False),
        ("test", "test", False),
        ("hello", "unknown", False),
        ("", "unknown", False),
        ("👋🏽", "unknown", False),
    ],
)
def test_a_prompt_s_task_is_read_from_its_words(prompt, intent, delegatable):
    found = classify(prompt, 0.4)
    assert (found.intent, found.delegatable) == (intent, delegatable), found
    assert found.reason


@every(("threshold", "delegatable"), [(0.0, True), (0.4, True), (0.8, True), (0.9, False)])
def test_the_threshold_is_the_callers(threshold, delegatable):
    found = classify("write unit tests for a parser", threshold)
    assert found.confidence == pytest.approx(0.846)
    assert found.delegatable == delegatable


@every(
    ("prompts", "lacks"),
    [
        (
            [
                "explain what this screenshot shows", "describe the attached diagram", "what is in the picture?",
                "document the mockup", "explain the chart above", "what does the photo show",
                "write tests for what you see when you look at it",
            ],
            "pictures",
        ),
        (
            [
                "explain the files of this folder", "summarize the repository", "what does our codebase do",
                "list all callers and explain them", "write tests for a parser and make them pass",
                "write a test for a queue until all tests pass", "explain the last commit", "describe PR 12",
                "write unit tests for an adder and run them", "explain https://example.com/a", "what is in the logs",
                "where is authentication and what does it do", "search the web and summarize", "what does git diff say",
            ],
            "files, tools or the repository",
        ),
        (["what does src/app.py do", "summarize README.md", "explain ./start", "explain login.PNG", "describe a/b/c", "explain ~/x"], "a file"),
        (["what is the latest version of React?", "what is new today in Rust"], "the present"),
        (
            [
                "Write docs for the parser module", "update the readme", "Can you document this function?",
                "write unit tests for the parser", "explain how the router works", "explain our design", "explain it",
                "how does it work?", "why did you do that, explain", "explain that again", "summarize the above",
            ],
            "it is about",
        ),
        (["explain what get_user_by_id returns", "generate pytest tests for calculateTotal()"], "does not show what `"),
        (["Add docstrings", "write unit tests", "write tests for parsing"], "does not show what to"),
    ],
)  # fmt: skip
def test_prompts_unsuited_to_a_text_model_go_to_the_agent(prompts, lacks):
    found = {prompt: classify(prompt, 0.0) for prompt in prompts}
    assert {prompt: one for prompt, one in found.items() if one.delegatable or lacks not in one.reason} == {}


def test_a_workflow_prompt_is_never_delegated():
    found = classify("write docs with parallel agents", 0.0, workflow=True)
    assert (found.delegatable, found.reason) == (False, "it asks for a workflow, which needs agents")


@given(st.text(max_size=500), st.floats(0, 1))
def test_any_text_is_classified_alike_each_time(text, threshold):
    found = classify(text, threshold)
    assert found == classify(text, threshold)
    assert 0 <= found.confidence <= 1
    assert not found.delegatable or (found.intent in DELEGATABLE and found.confidence >= threshold)


@every("text", ["write the " * 100_000, "add " + "a " * 500_000, "implement" * 100_000])
def test_the_start_of_a_megabyte_is_read(text):
    assert classify(text, 0.4) == classify(text[:LONGEST_PROMPT], 0.4)


@every(
    ("intent", "answer", "passed", "reason"),
    [
        ("document", '"""' + "x" * 97, True, ""),
        ("document", '"""' + "x" * 96, False, "it has 99 characters; at least 100 are needed"),
        ("document", LONG + "Args: text", True, ""),
        ("document", LONG + "RETURNS: a number", True, ""),
        ("document", LONG + "Parameters: none", True, ""),
        ("document", LONG, False, "it has none of"),
        ("test", "def test_x(): " + "x" * 66, True, ""),
        ("test", "def test_x(): " + "x" * 65, False, "at least 80"),
        ("test", "class TestX: " + "x" * 80, True, ""),
        ("test", "@pytest.mark " + "x" * 80, True, ""),
        ("test", "assert x == 1 " + "x" * 80, True, ""),
        ("test", "x" * 100, False, "it has none of"),
        ("research", "x" * 60, True, ""),
        ("research", " " * 30 + "x" * 59 + " " * 30, False, "it has 59 characters"),
        ("research", "I cannot help with that. " + LONG, False, "it refuses: `i cannot`"),
        ("research", "I'm unable to say. " + LONG, False, "it refuses: `i'm unable`"),
        ("research", "I\u2019m unable to say. " + LONG, False, "it refuses: `i'm unable`"),
        ("research", "I apologize. " + LONG, False, "it refuses: `i apologize`"),
        ("research", "As an AI, " + LONG, False, "it refuses: `as an ai`"),
        ("research", "I don\u2019t have that. " + LONG, False, "it refuses: `i don't have`"),
        ("research", "Sorry, I can\u2018t. " + LONG, False, "it refuses: `i can't`"),
        ("research", "x" * 200 + " I cannot", True, ""),
        ("research", "The api cannot do that. " + LONG, True, ""),
        ("research", "As an aid to memory: " + LONG, True, ""),
        ("implement", LONG, False, "`implement` is not delegated"),
    ],
)
def test_an_answer_is_checked_by_length_start_and_markers(intent, answer, passed, reason):
    found = judge(intent, answer)
    assert found.passed == passed, found
    assert reason in found.reason


@every(("tokens", "usd"), [(800, 0.0112), (600, 0.0084), (400, 0.0056), (0, 0.0)])
def test_savings_are_the_difference_of_two_prices(tokens, usd):
    assert savings(tokens, (0.015, 0.001)) == pytest.approx(usd)


def test_an_answer_is_shown_as_the_local_models_own():
    shown = answer_text("qwen3", "Text.", confidence=0.7142, saved=0.0112, reason="it asks for documentation")
    assert shown == (
        "[Local Model Response - qwen3]\n\nText.\n\n---\n"
        "Delegated via local model: confidence=0.71, savings=$0.0112. Reason: it asks for documentation"
    )
