"""Prompts as people write them: negations, colleagues and statements that only look like an agent's name."""

import pytest

from baton.lib.router.agents import Agent
from tests.support.cases import every
from tests.support.routing import FixedRoster, routed

TEAM = {
    "code-reviewer": "Reviews code changes and pull requests for correctness, readability and maintainability.",
    "test-engineer": "Writes unit, integration and end-to-end tests and repairs flaky ones.",
    "search-engineer": "Works on product search: indexing, ranking, synonyms and autocomplete.",
    "checkout-engineer": "Owns the checkout: payments, refunds, vouchers, taxes and invoices.",
    "release-manager": "Prepares releases: version numbers, changelogs, tags and rollouts.",
    "frontend-dev": "Builds the React storefront: components, pages, buttons, styles and layout.",
    "mobile-dev": "Develops the iOS and Android apps in Swift and Kotlin.",
    "db-migrator": "Writes database migrations: schemas, tables, columns and indexes in PostgreSQL.",
    "debugger": "Finds the root cause of crashes, exceptions and failures.",
}
FOR = {
    "fix the refund rounding, but don't use the code-reviewer": "checkout-engineer",
    "don't write tests, just change the button color": "frontend-dev",
    "have a look at my diff before I merge": "code-reviewer",
    "Die Rückerstattung von Geschenkkarten ist falsch": "checkout-engineer",
    "Bitte meinen Pull Request durchsehen": "code-reviewer",
    "el botón de la página es demasiado pequeño": "frontend-dev",
    "Dodaj indeks do tabeli zamówień": "db-migrator",
    "this is not a test problem, the search ranking is wrong": "search-engineer",
    "our release-manager Anna wants the synonyms for shoes indexed": "search-engineer",
    "the test-engineer says that autocomplete ranking is broken, fix it": "search-engineer",
    "I don't want a code review, add an index to the orders table": "db-migrator",
    "write tests for the refund, no review please": "test-engineer",
    "leave the migrations alone and restyle the buttons of the storefront page": "frontend-dev",
    "code-reviewer: look at this": "code-reviewer",
    "use test-engineer for the parser": "test-engineer",
    "review it with code-reviewer": "code-reviewer",
}
FOR_NOBODY = [
    "not a test problem",
    "the test-engineer left the company, remove him from CODEOWNERS",
    "our release-manager Anna wants a cake for her birthday",
    "is the debugger statement left in main.js?",
    "is the code-reviewer paid monthly?",
    "who is the frontend-dev on duty today?",
    "the mobile dev is on holiday until Monday",
    "ask the release-manager if he has time on Friday",
    "I had lunch with the release-manager yesterday",
    "the proposal was rejected by the code-reviewer",
    "we use code-reviewer at work",
    "our test engineers are in Lisbon this week",
    "ask our test-engineer Bob about the offsite",
]


@pytest.fixture(scope="module")
def roster():
    return FixedRoster([Agent(name=name, description=text) for name, text in TEAM.items()])


@every(("prompt", "agent"), FOR.items())
async def test_the_right_agent_of_a_prompt_with_other_names_is_found(roster, prompt, agent):
    route = await routed(roster, prompt)
    assert (route.selected_agent, route.candidates[0].name) == (agent, agent)


@every("prompt", FOR_NOBODY)
async def test_a_name_alone_is_no_reason_for_advice(roster, prompt):
    route = await routed(roster, prompt)
    assert (route.selected_agent, route.additional_context) == ("", "")


@every(
    ("one", "two", "prompt", "alone"),
    [
        (
            "Reviews code changes for quality.",
            "Reviews code changes for quality and style.",
            "review my code changes",
            "",
        ),
        ("Reviews code changes for quality.", "Reviews code changes for quality.", "review my code changes", ""),
        ("Reviews Python code changes.", "Reviews Java code changes.", "review my Python code changes", "code-checker"),
    ],
)
async def test_similar_agents_are_a_shortlist_unless_a_word_decides(one, two, prompt, alone):
    agents = [Agent(name="code-checker", description=one), Agent(name="change-critic", description=two)]
    others = [Agent(name=name, description=text) for name, text in TEAM.items() if name != "code-reviewer"]
    route = await routed(FixedRoster([*agents, *others]), prompt)
    told = route.additional_context
    assert told.startswith("## Agent Selection") if alone else told.startswith("## Candidates")
    assert alone in told
    assert alone or ("code-checker" in told and "change-critic" in told)
