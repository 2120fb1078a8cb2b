"""The stage `select`: the agent named by the prompt, else the node's, a model's if the scorer is unsure, or its own.

A tier's answer counts only if it is one of the candidates.
"""

import asyncio

import msgspec

from baton.kernel.base.sql import StoreErrors
from baton.lib.router.agents import Candidate, Tier
from baton.lib.router.features import DEFAULT
from baton.lib.router.index import AgentScore, Index, Ranking
from baton.lib.router.model_choice import unsure
from baton.lib.router.prompts import parts
from baton.machines.inventories import DEGRADED as AGENTS
from baton.route.pipeline.sections import SURE, selection_section, shortlist_section
from baton.route.pipeline.stage import Choice, Chooser, Intent, Route, Section, StageName
from baton.route.prompt import Prompt
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import DEGRADED, Indexes

NAMED = 0.99  # the confidence in an agent that the prompt names
ABOUT = 0.983
"""Minimum probability that a prompt is about the roster. Of a hundred prompts for nobody, at most one gets a text."""
RANKED = 10  # ranked agents: the five candidates, and reserves for those that the prompt does not want


class Select:
    """Asks the tiers in their order."""

    name: StageName = "select"
    budget_s = 5.0

    def __init__(
        self,
        rosters: RoutingRosters,
        indexes: Indexes,
        *,
        threshold: float,
        node: Chooser | None = None,
        model: Chooser | None = None,
    ) -> None:
        self._rosters = rosters
        self._indexes = indexes
        self._threshold = threshold
        self._node = node
        self._model = model
        self._turn = asyncio.Lock()

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Rank the agents, choose one or none, and write the sections about it."""
        if route.passed:
            return
        if prompt.agents_missing:
            route.degraded.append(AGENTS)
        roster = await self._rosters.index_for(prompt)
        index = roster.index
        if not index.names:
            route.reason = "no agent is known: no roster was pushed (`baton roster push`), and no client reported any"
            return
        ranking = await self._ranked(index, prompt.text)
        mentioned = ranking.mentioned
        named = mentioned.asked
        candidates = candidates_of(index, [one for one in ranking.agents if one.agent not in mentioned.unwanted])
        if named is not None:
            candidates = _first(index, named, candidates)
        if self._indexes.degraded:
            route.degraded.append(DEGRADED)
        about = named is not None or ranking.about >= ABOUT
        tier, agent, reason = await self._choose(prompt, candidates, route, named=named is not None, about=about)
        route.candidates, route.confidence = candidates, candidates[0].score if candidates else 0.0
        route.tier, route.selected_agent, route.reason = tier, agent, reason
        route.intents = await self._intents(index, prompt) if about else ()
        section = self._section(route, prompt.client, roster.homes.get(agent, ""), index, about=about)
        if section is not None:
            route.sections.append(section)

    async def _ranked(self, index: Index, text: str) -> Ranking:
        """Rank the agents. Each turn of the loop scores one text, so that many do not delay decisions."""
        async with self._turn:
            ranking = index.rank(text, DEFAULT, RANKED)
            await asyncio.sleep(0)
        return ranking

    async def _intents(self, index: Index, prompt: Prompt) -> tuple[Intent, ...]:
        """Return the parts of a prompt for different agents, in order; none if all are for one."""
        found: dict[str, Intent] = {}
        for text in parts(prompt.text):
            ranking = await self._ranked(index, text)
            best, named = ranking.agents[0], ranking.mentioned.asked
            number, sure = (best.agent, best.probability) if named is None else (named, NAMED)
            if sure >= self._threshold:
                name = index.names[number]
                found.setdefault(name, Intent(text=text, agent=name, confidence=round(sure, 4)))
        return tuple(found.values()) if len(found) > 1 else ()

    def _section(self, route: Route, client: str, home: str, index: Index, *, about: bool) -> Section | None:
        named = all(one.confidence == NAMED for one in route.intents)
        if route.intents and (named or route.tier in {"scorer", "none"}):
            known = dict(zip(index.names, index.descriptions, strict=True))
            agents = [
                Candidate(name=i.agent, score=i.confidence, why="", description=known[i.agent]) for i in route.intents
            ]
            return shortlist_section(agents, client, several=True)
        chosen = next((one for one in route.candidates if one.name == route.selected_agent), None)
        # A choice by the prompt, the node or the model uses knowledge missing from the scorer's probability.
        if chosen is not None and (route.tier != "scorer" or chosen.score >= SURE):
            return selection_section(chosen, client, home)
        return shortlist_section(route.candidates, client) if about and route.tier in {"scorer", "none"} else None

    async def _choose(
        self, prompt: Prompt, candidates: tuple[Candidate, ...], route: Route, *, named: bool, about: bool
    ) -> tuple[Tier, str, str]:
        """Return tier, agent and reason. A configured tier without an answer is named in `degraded`."""
        if not candidates:
            return "none", "", "the prompt does not want the only agents that there are"
        best = candidates[0]
        if named:
            return "explicit", best.name, f"the prompt names `{best.name}`"
        asked: list[tuple[Tier, Chooser | None]] = [("node", self._node)]
        asked += [("model", self._model)] if about and unsure(candidates) else []
        allowed = {one.name for one in candidates}
        for tier, chooser in asked:
            if chooser is None:
                continue
            choice = await chooser.choose(prompt, candidates)
            # "No agent" is an answer, too; a name outside the candidates does not count.
            if choice is not None and (not choice.agent or choice.agent in allowed):
                return tier, choice.agent, _said(tier, choice)
            route.degraded.append(tier)
        if not about:
            return "none", "", "the prompt is not about what these agents do, as far as its words tell"
        if best.score >= self._threshold:
            return "scorer", best.name, best.why
        return "none", "", f"no agent is a clear match: the best has {best.score:.2f} of {self._threshold:.2f}"


def candidates_of(index: Index, ranking: list[AgentScore], most: int = 5) -> tuple[Candidate, ...]:
    """Return the best of a ranking, in words for people."""
    return tuple(
        Candidate(
            name=index.names[one.agent],
            score=round(one.probability, 4),
            why=_why(one),
            description=index.descriptions[one.agent],
        )
        for one in ranking[:most]
    )


def _first(index: Index, named: int, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    name = index.names[named]
    found = Candidate(name=name, score=NAMED, why="the prompt names it", description=index.descriptions[named])
    return (found, *(one for one in candidates if one.name != name))[:5]


def _why(one: AgentScore) -> str:
    words = f"it speaks of {', '.join(one.words)}" if one.words else "no word in common"
    near = max(one.features[2], one.features[3])
    return f"{words}; nearness in meaning {near:.2f}"


def _said(tier: Tier, choice: Choice) -> str:
    who = "the routing node" if tier == "node" else f"the model `{choice.model}`"
    return f"{who} chose `{choice.agent}`" if choice.agent else f"{who} found that none of the candidates fits"


class RankingExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The scorer's inputs for a prompt: each ranked agent, with its features in the order of their names."""

    index: Index
    ranking: list[AgentScore]
    named: str
    degraded: list[str]


async def explain(rosters: RoutingRosters, indexes: Indexes, prompt: Prompt, most: int) -> RankingExplanation:
    """Rank the agents of a prompt without choosing one.

    Raises:
        NotFound: If there is no such roster.
        StoreUnavailable: If it is not indexed yet, and the database is unavailable.
    """
    with StoreErrors("the roster cannot be read now; try again"):
        index = (await rosters.index_for(prompt)).index
    ranking = index.rank(prompt.text, DEFAULT, most)
    named = ranking.mentioned.asked
    return RankingExplanation(
        index=index,
        ranking=ranking.agents,
        named="" if named is None else index.names[named],
        degraded=[DEGRADED] if indexes.degraded else [],
    )
