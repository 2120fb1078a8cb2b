"""Unrouted prompts, and the context naming a prompt's chosen agent."""

import pytest

from baton.route.pipeline.context import LONGEST, Assemble, fitted, joined
from baton.route.pipeline.stage import Choice, LocalAnswer, Route, Section
from baton.route.prompt import Prompt
from baton.rules.call.call import Principal
from tests.support.routing import SURE, FixedChooser, FixedRoster, routed


@pytest.fixture(scope="module")
def roster():
    return FixedRoster()


@pytest.mark.parametrize("text", ["yes, do it", "/compact now", "<task-notification>done</task-notification>", "   "])
async def test_an_unrouted_prompt_asks_no_model(roster, text):
    model = FixedChooser(Choice(agent="db-tuner"))
    route = await routed(roster, text, model=model, node=model)
    assert (route.selected_agent, route.tier, route.candidates, route.additional_context) == ("", "none", (), "")
    assert route.reason
    assert not model.asked


async def test_a_sub_agent_s_prompt_is_not_routed(roster):
    route = await routed(roster, f"{SURE}; use the copy-editor agent", agent_id="a1")
    assert (route.selected_agent, route.candidates, route.additional_context) == ("", (), "")
    assert "sub-agent" in route.reason


def assembled(sections):
    return joined(fitted(sections))


def test_sections_are_dropped_whole_the_lowest_priority_first():
    sections = [
        Section(source="x", heading="A", text="a" * 5_000, priority=100),
        Section(source="x", heading="B", text="b" * 2_000, priority=20),
        Section(source="x", heading="C", text="c" * 2_000, priority=10),
        Section(source="x", heading="D", text="", priority=50),
    ]
    text = assembled(sections)
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## A", "## B"]
    assert len(text) <= LONGEST
    assert assembled([Section(source="x", heading="A", text="a" * 9_000, priority=1)]) == ""
    alike = [
        Section(source="x", heading=one, text=one * 5_000, priority=priority)
        for one, priority in (("A", 1), ("B", 2), ("C", 1))
    ]
    assert assembled(alike) == f"## B\n\n{alike[1].text}"
    assert assembled(alike[::2]) == f"## A\n\n{alike[0].text}"


async def test_a_local_model_s_answer_has_no_other_context():
    route = Route(id="r", sections=[Section(source="x", heading="A", text="a", priority=1)])
    route.local_answer = LocalAnswer(model="m", intent="test", confidence=1, savings=0, reason="", text="[Local] yes")
    await Assemble().run(Prompt(text="x", principal=Principal()), route)
    assert route.additional_context == "[Local] yes"
