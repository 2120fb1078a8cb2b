"""An expression's maximum cost is known before evaluation; a too expensive one is not evaluated."""

from baton.rules.policy.load import layered, load
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.when import BUDGET, When
from tests.support.cases import every

BASE = load(layered({"config.yaml": "shell_tools: {}"}))
A, B = "a" * 30_000, "ab" * 30_000
TOO_MUCH = {
    "a pattern on a long text": ('call.input.text.matches("[ab]*a[ab]{100}c")', {"text": B}),
    "a raw pattern on a long text": ("call.input.text.matches(r'[ab]*a[ab]{100}c')", {"text": B}),
    "a small pattern in a loop": ('call.input.items.exists(x, x.matches("git +push"))', {"items": [A[:4_000]] * 64}),
    "a text of the call in a long text": ("call.input.text.contains(call.input.part)", {"text": B, "part": A}),
    "texts put together": ("(call.input.text + call.input.text).contains(call.tool)", {"text": A}),
    "a loop in a loop": ("call.input.items.all(a, call.input.items.all(b, a + b != a))", {"items": ["x"] * 64}),
    "a loop behind a comment": (
        "call.input.items.all// (\n  (a, call.input.items.all// (\n  (b, a + b != a))",
        {"items": ["x"] * 64},
    ),
    "lists of lists": ("call.input.items.size() > 1", {"items": [["x"] * 64] * 64}),
    "many texts": ("call.input.items.size() > 1", {"items": [A] * 10}),
}


def asked(facts, tool_input, *texts):
    """Ask expressions of one call; give the names of those that failed, and what all may have cost."""
    context = Context(BASE, facts("Edit", tool_input))
    for number, text in enumerate(texts):
        When(text, str(number), on_error=True).holds(context)
    return context.errors, context.spent


@every(("text", "tool_input"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_an_expression_over_budget_is_not_evaluated(facts, text, tool_input):
    assert asked(facts, tool_input, text) == ({"when:0"}, 0)
    assert asked(facts, {"text": "ab", "part": "b", "items": ["git push"]}, text)[0] == set()


USUAL = {
    "the programs of a line": ('call.input.items.exists(p, p == "git") && "push" in call.input.items', 50),
    "a few patterns on a page": (" || ".join(f'call.input.text.matches("git +(push|tag) v{n}")' for n in range(3)), 4),
    "texts in a file": (" || ".join(f'call.input.text.contains("NOTE {n}")' for n in range(10)), 50),
}


@every(("text", "pages"), USUAL.values(), ids=USUAL)
def test_usual_expressions_cost_less_than_half_the_budget(facts, text, pages):
    errors, spent = asked(facts, {"text": "x" * 1_000 * pages, "items": ["word"] * min(pages, 60)}, text)
    assert errors == set()
    assert spent < BUDGET / 2


def test_the_expressions_of_a_call_share_one_budget(facts):
    dear = 'call.input.text.matches("[ab]*a[ab]{100}c")'
    errors, spent = asked(facts, {"text": B[:4_000]}, dear, dear, 'call.tool == "Edit"', dear)
    assert errors == {"when:1", "when:3"}
    assert spent <= BUDGET


def test_each_operator_in_a_loop_is_counted(facts):
    few, many = (f"call.input.items.all(x, {' - '.join(['1'] * count)} > 0)" for count in (2, 22))
    less, more = (asked(facts, {"items": ["a"] * 30}, text)[1] for text in (few, many))
    assert more - less > 30 * 20
