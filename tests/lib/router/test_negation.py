"""An action excluded by a prompt is no reason to name an agent."""

from baton.lib.router.agents import Agent
from baton.lib.router.index import Index
from baton.lib.router.text import wanted
from tests.support.cases import every

LEFT = {
    "please do NOT review the code, just format it": "just format it",
    "Don\u2019t review it. Format it.": "Format it",
    "dont review this": "",
    "never review the code; only format it": "only format it",
    "Format the file without reviewing it": "Format the file",
    "merge it without a review": "merge it",
    "there's no need for a review, just merge": "just merge",
    "no need to review: format it": "format it",
    "skip the code review and format the file": "and format the file",
    "forget about the review, format it": "format it",
    "instead of reviewing the code, format it": "format it",
    "format the code rather than review it": "format the code",
    "I don't want you to review the code, just format it": "just format it",
    "you shouldn't review this, only run it": "only run it",
    "this doesn't need a review, merge it": "this  , merge it",
    "no code review, just format": "just format",
    "no review needed, format the file": "format the file",
    "format it, not review it": "format it",
    "avoid reviewing the code, format it": "format it",
}
KEPT = [
    "review my code",
    "the tests don't pass after the review",
    "users can't log in",
    "it does not compile",
    "don't forget to review the code",
    "do not skip the tests",
    "don't just format it, review it",
    "Don't you think we should review the code?",
    "not sure why the build fails",
    "no idea why the test fails",
    "why does the reviewer not start?",
    "find functions without a docstring",
    "skip the flaky test in CI",
]


@every(("prompt", "left"), LEFT.items())
def test_a_negated_clause_is_left_out(prompt, left):
    assert wanted(prompt) == left


@every("prompt", KEPT)
def test_a_statement_and_a_double_negation_stay(prompt):
    assert wanted(prompt) == prompt


@every("prompt", [one for one, left in LEFT.items() if "code" not in left])
def test_a_negated_reviewer_is_not_chosen(prompt):
    index = Index([Agent(name="reviewer", description="Reviews code.")], None)
    assert index.score("review my code")[0].probability > 0.3
    assert index.score(prompt)[0].probability < 0.3
