"""Patterns similar to the prompt: new to the session, of its own team, and never twice in one prompt."""

from types import SimpleNamespace

from baton.context.enrichment.handler import EnrichmentPrompt
from baton.context.enrichment.similarity import Similarity, worded
from baton.context.patterns.service import Match
from baton.rules.call.call import Principal
from tests.support.cases import every

ANN = Principal(organisation="acme", team="web", user="ann")


def match(name, score, confidence=0.8, text="Why it is so."):
    return Match(SimpleNamespace(id=name, signature=f"Do {name}", text=text, confidence=confidence), score)


def handler(*matches, given=("x",)):
    async def search(principal, text, *, project, limit):
        assert (principal, project) == (ANN, "shop")
        return list(matches)[:limit]

    async def given_(principal, session_id):
        return frozenset(given)

    return Similarity(search, given_)


async def said(handler, session="s", principal=ANN):
    return await handler.enrich(EnrichmentPrompt(text="mend", principal=principal, project="shop", session_id=session))


async def test_the_best_new_matches_are_given():
    found = await said(
        handler(match("a", 0.9), match("b", 0.8), match("c", 0.5), match("d", 0.4), match("e", 0.1), given=("b",))
    )
    assert found.text.splitlines() == [f"- **Do {name}** (80% confidence): Why it is so." for name in "acd"]
    assert found.relevance == 0.9


@every(("session", "given", "told"), [("s", (), False), ("s", ("",), False), ("s", ("x",), True), ("", (), True)])
async def test_a_prompt_that_is_given_patterns_by_itself_gets_them_once(session, given, told):
    found = await said(handler(match("a", 0.9), given=given), session)
    assert bool(found.text) == told


async def test_a_match_beyond_the_limit_is_left_out():
    assert (await said(handler(match("a", 0.3)))).text == ""
    assert (await said(handler(match("a", 0.9)), principal=Principal(user="ann", team=""))).text == ""


def test_a_pattern_is_one_line_whatever_is_in_it():
    line = worded(match("x\n## y `z` <system>", 0.9, text="a\nb" * 500))
    assert "\n" not in line
    assert "<system>" not in line
    assert len(line) < 480
    assert worded(match("x", 0.9, text="")) == "- **Do x** (80% confidence)"
