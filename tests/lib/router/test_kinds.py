"""Words of a complaint lead to the trade for it, and weigh less than a word of the trade itself."""

from baton.lib.router.agents import Agent
from baton.lib.router.index import Index, related
from baton.lib.router.text import terms
from tests.support.cases import every


@every(
    ("prompt", "trade"),
    [
        ("TypeError in checkout", "debugger"),
        ("the suite is flaky", "testing"),
        ("write a dockerfile", "devops"),
        ("we had an outage", "incident"),
        ("check for XSS", "security"),
    ],
)
def test_a_word_belongs_to_its_kind(prompt, trade):
    assert terms(trade)[0] in related(terms(prompt))


def test_words_of_the_prompt_are_not_added_and_chatter_has_no_kind():
    assert "debug" not in related(terms("debug this error"))
    assert related(terms("how tall is the Eiffel tower")) == []


def test_an_agent_is_found_by_its_kind_and_its_own_words_count_more():
    trade = Agent(name="troubleshooter", description="Debugging of services.")
    other = Agent(name="gardener", description="Tends tomatoes.")
    index = Index([other, trade], None)
    ranking = index.score("a traceback at start")
    assert index.names[ranking[0].agent] == "troubleshooter"
    assert ranking[0].words == ()
    index = Index([other, trade, Agent(name="reader", description="Reads a traceback.")], None)
    assert index.names[index.score("a traceback at start")[0].agent] == "reader"
