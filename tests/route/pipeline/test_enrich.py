"""The stage `enrich`: a section for each handler that has something to say, and the names of those that were absent."""

import asyncio

from baton.context.enrichment.handler import Enrichment
from baton.context.enrichment.service import Enricher
from baton.engine.call.principal import Principal
from baton.route.pipeline.context import Assemble, Detect
from baton.route.pipeline.enrich import Enrich
from baton.route.prompt import Prompt
from tests.support.routing import pipeline


class Handler:
    def __init__(self, name, text):
        self.name, self.heading, self._text = name, f"About {name}", text
        self.asked = []

    async def enrich(self, prompt):
        self.asked.append(prompt)
        if self._text is None:
            await asyncio.sleep(3_600)
        return Enrichment(text=self._text)


async def routed(*handlers, text="mend the parser", **more):
    stages = (Detect(), Enrich(Enricher(lambda _: handlers)), Assemble())
    return await pipeline(*stages).answer(Prompt(text=text, principal=Principal(), **more))


async def test_each_says_its_piece_in_the_order_of_their_worth():
    route = await routed(Handler("mine", "- m"), Handler("code_analysis", "- c"), Handler("summarization", "- s"))
    assert (
        route.additional_context
        == "## About summarization\n\n- s\n\n## About code_analysis\n\n- c\n\n## About mine\n\n- m"
    )
    assert route.degraded == []


async def test_one_that_hangs_is_named():
    route = await routed(Handler("similarity", None), Handler("mine", "- m"))
    assert route.degraded == ["enrich:similarity"]
    assert route.additional_context == "## About mine\n\n- m"


async def test_what_is_not_for_routing_is_not_enriched():
    handler = Handler("mine", "- m")
    for text, more in (("/compact now", {}), ("mend it", {"agent_id": "a1"})):
        assert (await routed(handler, text=text, **more)).additional_context == ""
    assert handler.asked == []
