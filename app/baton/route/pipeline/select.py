"""The stage `select`: an agent that the prompt names, else the node's, else a model's if the scorer is unsure, else the scorer's.

Whatever a tier says counts only if it is one of the candidates.
"""

import asyncio
from collections.abc import Callable

import msgspec

from baton.clients.inventories import DEGRADED as AGENTS
from baton.engine.call.principal import Principal
from baton.engine.routing.candidates import Candidate, Tier
from baton.engine.routing.features import Weights
from baton.engine.routing.index import AgentScore, Index
from baton.engine.routing.model_choice import LEAST, unsure
from baton.engine.routing.text import bounded
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import DatabaseUnavailable
from baton.route.pipeline.context import candidates_section, selection_section
from baton.route.pipeline.stage import Choice, Chooser, Route, StageName, Trace
from baton.route.prompt import Prompt
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import DEGRADED, Indexes

NAMED = 0.99
"""The confidence in an agent that the prompt names."""
TRACED = 10
"""Agents whose features are kept for feedback: a fit needs the right one and its rivals."""


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
        weights: Callable[[Principal], Weights],
        node: Chooser | None = None,
        model: Chooser | None = None,
    ) -> None:
        self._rosters = rosters
        self._indexes = indexes
        self._threshold = threshold
        self._weights = weights
        self._node = node
        self._model = model
        self._turn = asyncio.Lock()

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Rank the agents, choose one or none, and write the sections that say so."""
        if route.passed:
            return
        if prompt.agents_missing:
            route.degraded.append(AGENTS)
        roster = await self._rosters.index_for(prompt)
        index = roster.index
        if not index.names:
            route.reason = "no agent is known: nothing was pushed, and the session's client has told of none"
            return
        ranking = await self._ranked(index, prompt)
        candidates = candidates_of(index, ranking)
        named = index.mentions.find(bounded(prompt.text))
        if named is not None:
            candidates = _first(index, named, candidates)
        if self._indexes.degraded:
            route.degraded.append(DEGRADED)
        tier, agent, reason = await self._choose(prompt, candidates, route.degraded, named=named is not None)
        route.candidates, route.confidence = candidates, candidates[0].score
        route.tier, route.selected_agent, route.reason = tier, agent, reason
        route.trace = Trace(
            agents=[index.names[one.agent] for one in ranking], features=[list(one.features) for one in ranking]
        )
        if agent:
            route.sections.append(selection_section(route, prompt.client, roster.homes.get(agent, "")))
        if agent or candidates[0].score >= LEAST:
            route.sections.append(candidates_section(route))

    async def _ranked(self, index: Index, prompt: Prompt) -> list[AgentScore]:
        """Rank the agents. One prompt is scored in each turn of the loop, so that many at once do not hold decisions up."""
        async with self._turn:
            ranking = index.score(prompt.text, self._weights(prompt.principal), TRACED)
            await asyncio.sleep(0)
        return ranking

    async def _choose(
        self, prompt: Prompt, candidates: tuple[Candidate, ...], degraded: list[str], *, named: bool
    ) -> tuple[Tier, str, str]:
        """Return tier, agent and reason. A tier that is configured and has nothing to say is named in `degraded`."""
        best = candidates[0]
        if named:
            return "explicit", best.name, f"the prompt names `{best.name}`"
        asked: list[tuple[Tier, Chooser | None]] = [("node", self._node)]
        asked += [("model", self._model)] if unsure(candidates) else []
        allowed = {one.name for one in candidates}
        for tier, chooser in asked:
            if chooser is None:
                continue
            choice = await chooser.choose(prompt, candidates)
            if choice is not None and (not choice.agent or choice.agent in allowed):
                return tier, choice.agent, _said(tier, choice)
            degraded.append(tier)
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


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What the scorer saw of a prompt: each agent of the ranking, with its features in the order of their names."""

    index: Index
    ranking: list[AgentScore]
    named: str
    degraded: list[str]


async def explain(
    rosters: RoutingRosters, indexes: Indexes, prompt: Prompt, weights: Weights, most: int
) -> Explanation:
    """Rank the agents of a prompt without choosing one.

    Raises:
        NotFound: If there is no such roster.
        StoreUnavailable: If it is not indexed yet, and the database is away.
    """
    try:
        index = (await rosters.index_for(prompt)).index
    except DatabaseUnavailable:
        raise StoreUnavailable("the roster cannot be read now; try again") from None
    named = index.mentions.find(bounded(prompt.text)) if index.names else None
    return Explanation(
        index=index,
        ranking=index.score(prompt.text, weights, most),
        named="" if named is None else index.names[named],
        degraded=[DEGRADED] if indexes.degraded else [],
    )
