"""The stages of routing in their order: late and broken ones, groups, the deadline of the whole."""

import asyncio

import pytest

from baton.kernel.base.errors import NotFound
from baton.records.pipeline.recorder import Counters
from baton.route.pipeline import pipeline as module
from baton.route.pipeline.context import Assemble
from baton.route.pipeline.pipeline import Routing
from baton.route.pipeline.stage import Section
from baton.route.prompt import Prompt
from baton.rules.call.call import Principal
from tests.support.routing import pipeline


class Stage:
    def __init__(self, name, run, budget_s=0.05):
        self.name, self._run, self.budget_s = name, run, budget_s

    async def run(self, prompt, route):
        await self._run(route)


async def late(route):
    await asyncio.sleep(60)


async def broken(route):
    raise RuntimeError("seeded")


async def fine(route):
    route.sections.append(Section(source="x", heading="Context Patterns", text="- one", priority=10))


@pytest.mark.parametrize("bad", [late, broken])
async def test_a_stage_that_is_late_or_breaks_is_absent_and_holds_nothing_up(bad):
    routing = pipeline(Stage("enrich", bad), Stage("patterns", fine), Assemble())
    route = await routing.answer(Prompt(text="x", principal=Principal()))
    assert route.degraded == ["enrich"]
    assert route.additional_context == "## Context Patterns\n\n- one"
    assert set(route.timings_ms) == {"enrich", "patterns", "assemble"}


async def test_stages_of_a_group_run_at_the_same_time_each_with_its_own_budget():
    met = asyncio.Barrier(2)

    async def meet(route):
        await met.wait()

    group = (Stage("enrich", meet, 5), Stage("patterns", meet, 5), Stage("advisories", late))
    routing = Routing((group,), sessions=None, traces=None, counters=Counters())
    route = await routing.answer(Prompt(text="x", principal=Principal()))
    assert route.degraded == ["advisories"]


async def test_the_whole_has_a_deadline_too(monkeypatch):
    monkeypatch.setattr(module, "WHOLE_S", 0.05)
    routing = pipeline(Stage("enrich", late, 60), Stage("patterns", late, 60), Assemble())
    route = await routing.answer(Prompt(text="x", principal=Principal()))
    assert route.degraded[:2] == ["enrich", "patterns"]


async def test_a_caller_s_error_is_no_degradation():
    async def unknown(route):
        raise NotFound("there is no roster `x`")

    with pytest.raises(NotFound):
        await pipeline(Stage("select", unknown)).answer(Prompt(text="x", principal=Principal()))
