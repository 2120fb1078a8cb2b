"""Indexes are built once for all callers, and without the word table by words alone."""

import asyncio

import pytest

from baton.kernel.base.word_table import WordTableMissing
from baton.lib.router.agents import Agent
from baton.lib.router.index import AgentReading
from baton.route.rosters import indexes as indexes_module
from baton.route.rosters.indexes import Indexes

TOMATO = Agent(name="alpha", description="Tends tomatoes.")
BICYCLE = Agent(name="beta", description="Repairs bicycles.")


async def test_who_stops_waiting_does_not_stop_the_building():
    indexes, may_go = Indexes(), asyncio.Event()

    async def agents():
        await may_go.wait()
        return [TOMATO]

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await indexes.get("d", agents)
    waiting = asyncio.create_task(indexes.get("d", agents))
    may_go.set()
    assert (await waiting).names == ("alpha",)


async def test_a_roster_that_cannot_be_read_fails_for_those_who_asked_and_is_tried_again():
    indexes, fails = Indexes(), [True]

    async def agents():
        if fails.pop() if fails else False:
            raise OSError("seeded")
        return [TOMATO]

    with pytest.raises(OSError, match="seeded"):
        await indexes.get("d", agents)
    assert len(await indexes.get("d", agents)) == 1


async def test_without_the_word_table_agents_are_compared_by_words():
    def missing():
        raise WordTableMissing("seeded")

    async def agents():
        return [TOMATO, BICYCLE]

    indexes = Indexes(missing)
    index = await indexes.get("d", agents)
    assert (indexes.degraded, indexes.words) == (True, "missing")
    assert index.names[index.score("tend the tomatoes")[0].agent] == "alpha"


async def test_agents_that_another_index_has_read_are_not_read_again(monkeypatch):
    read = []

    class Reading(AgentReading):
        def __init__(self, agent, embedder):
            read.append(agent.name)
            super().__init__(agent, embedder)

    monkeypatch.setattr(indexes_module, "AgentReading", Reading)
    indexes = Indexes()

    async def given(*agents):
        return agents

    await indexes.get("one", lambda: given(TOMATO))
    both = await indexes.get("both", lambda: given(TOMATO, BICYCLE))
    assert read == ["alpha", "beta"]
    assert both.names[both.score("repair my bicycle")[0].agent] == "beta"
