"""The stage `enrich`: a section for each handler with content, and the names of the missing ones."""

import asyncio

import pytest

from baton.context.enrichment.handler import Enrichment
from baton.context.enrichment.service import Enricher
from baton.events.emission import NO_EVENTS
from baton.events.payloads import ContextEnrichment
from baton.route.pipeline.context import Assemble, Detect
from baton.route.pipeline.enrich import Enrich
from baton.route.prompt import Prompt
from baton.rules.call.call import Principal
from tests.support.routing import pipeline


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Let the stage take its time on a busy machine: whether it is late is another test's matter."""
    monkeypatch.setattr(Enrich, "budget_s", 60.0)


class Handler:
    def __init__(self, name, text):
        self.name, self.heading, self._text = name, f"About {name}", text
        self.asked = []

    async def enrich(self, prompt):
        self.asked.append(prompt)
        if self._text is None:
            await asyncio.sleep(3_600)
        return Enrichment(text=self._text)


async def routed(*handlers, text="mend the parser", events=NO_EVENTS, **more):
    stages = (Detect(), Enrich(Enricher(handlers), events), Assemble())
    return await pipeline(*stages).answer(Prompt(text=text, principal=Principal(), **more))


async def test_sections_are_ordered_by_value():
    route = await routed(Handler("similarity", "- m"), Handler("code_analysis", "- c"), Handler("summarization", "- s"))
    assert (
        route.additional_context
        == "## About summarization\n\n- s\n\n## About code_analysis\n\n- c\n\n## About similarity\n\n- m"
    )
    assert route.degraded == []


async def test_one_that_hangs_is_named():
    route = await routed(Handler("code_analysis", None), Handler("similarity", "- m"))
    assert route.degraded == ["enrich:code_analysis"]
    assert route.additional_context == "## About similarity\n\n- m"


async def test_an_unrouted_prompt_is_not_enriched():
    handler = Handler("similarity", "- m")
    for text, more in (("/compact now", {}), ("mend it", {"agent_id": "a1"})):
        assert (await routed(handler, text=text, **more)).additional_context == ""
    assert handler.asked == []


async def test_a_client_without_context_gets_nothing():
    handler = Handler("similarity", "- m")
    assert (await routed(handler, client="cursor")).additional_context == ""
    assert handler.asked == []


class Emitted:
    def __init__(self):
        self.events = []

    def emit(self, principal, payload, *, event_id=""):
        self.events.append(payload)


async def test_each_handler_s_run_is_emitted():
    emitted = Emitted()
    route = await routed(
        Handler("summarization", "one two three"),
        Handler("code_analysis", ""),
        Handler("similarity", None),
        events=emitted,
        session_id="s",
    )
    runs = [one for one in emitted.events if isinstance(one, ContextEnrichment)]
    assert [(run.enrichment_type, run.result_token_count, run.was_dropped) for run in runs] == [
        ("summarization", 4, False), ("code_analysis", 0, False), ("similarity", 0, False),
    ]  # fmt: skip
    assert all((run.session_id, run.correlation_id) == ("s", route.id) for run in runs)
    assert all(run.latency_ms == round(run.latency_ms, 3) for run in runs)


async def test_a_section_dropped_by_the_cap_is_reported():
    emitted = Emitted()
    await routed(Handler("similarity", "w " * 1_200), Handler("summarization", "w " * 1_000), events=emitted)
    runs = {one.enrichment_type: one.was_dropped for one in emitted.events if isinstance(one, ContextEnrichment)}
    assert runs == {"similarity": True, "summarization": False}
