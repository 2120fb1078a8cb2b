"""Selects the agents to route a prompt to: pushed ones, those of the session's client, or a named roster."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.lib.router.agents import Agent
from baton.lib.router.index import Index
from baton.policies.in_force import Policies
from baton.route.prompt import Prompt
from baton.route.rosters import store
from baton.route.rosters.agents import digest_of, first_of_each_name, inline_agents, policy_agents, present_agents
from baton.route.rosters.indexes import Indexes
from baton.route.rosters.roster import ORGANISATION, PushedRoster, RosterKey
from baton.rules.call.agent_tools import GENERAL_AGENTS
from baton.rules.call.call import Principal

KIND = "routing_rosters"
MOST_REMEMBERED = 64  # sets of rosters whose agents and homes are remembered, of pushed ones and of the policies' each


class RoutingIndex(msgspec.Struct, frozen=True):
    """The index for routing. `homes` maps an agent to the roster with its definition."""

    index: Index
    homes: dict[str, str]


class _PolicyAgents(msgspec.Struct, frozen=True):
    """Agents without a push, as routing reads them; `homes` also has the pushed rosters' agents."""

    digest: str
    agents: tuple[Agent, ...]
    homes: dict[str, str]


class RoutingRosters:
    """The pushed rosters by key, swapped once their indexes are ready, and the index for each prompt."""

    def __init__(
        self, database: Database, changes: Changes, policies: Policies, indexes: Indexes, organisation: str
    ) -> None:
        self._database = database
        self._changes = changes
        self._policies = policies
        self._indexes = indexes
        self._organisation = organisation
        self._pushed: dict[RosterKey, PushedRoster] = {}
        self._wanted = self._pushed
        self._loaded = False
        self._swapping: asyncio.Task[None] | None = None
        self._warming: set[asyncio.Task[None]] = set()
        # By names and digests of pushed rosters, and by revision of the policy set and name of its roster.
        self._homes: OrderedDict[tuple[tuple[str, str], ...], dict[str, str]] = OrderedDict()
        self._policy_agents: OrderedDict[tuple[str, str], _PolicyAgents] = OrderedDict()
        # By pushed rosters, revision of the policy set and digest of the client's agents.
        self._present: OrderedDict[tuple[tuple[tuple[str, str], ...], str, str], _PolicyAgents] = OrderedDict()
        changes.on(KIND, self.load, self.load_some)

    async def load(self) -> None:
        """Read the active rosters, in force once they are indexed. Raise DatabaseUnavailable.

        The first load waits for no index: the first prompt builds its own.
        """
        async with self._changes.turn(KIND):
            self._wanted = {one.key: one for one in await store.active(self._database, self._organisation)}
        if not self._loaded:
            self._loaded, self._pushed = True, self._wanted
        else:
            self._put_in_force()

    async def load_some(self, objects: list[str]) -> None:
        """Reload the active versions of these rosters, as named by `RosterKey.object`. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            keys = [RosterKey.of_object(one) for one in objects]
            found = {one.key: one for one in await store.active_of(self._database, self._organisation, keys)}
            self._wanted = {key: one for key, one in self._wanted.items() if key not in keys} | found
        self._put_in_force()

    def _put_in_force(self) -> None:
        if self._swapping is None or self._swapping.done():
            self._swapping = asyncio.create_task(self._swap())

    async def settled(self) -> None:
        """Wait until the last read is in force."""
        if self._swapping is not None:
            # Shielded: an abandoned request must not keep the others' rosters out of force.
            await asyncio.shield(self._swapping)

    async def _swap(self) -> None:
        """Index the changes, then put all of them in force at once.

        A roster not indexed because the database is unavailable is indexed when a prompt asks for it.
        """
        # Another `load` may set `_wanted` during indexing: continue until it is in force.
        while self._pushed is not self._wanted:
            wanted = self._wanted
            changed = {key for key in wanted | self._pushed if wanted.get(key) != self._pushed.get(key)}
            # A change of the organisation's rosters affects all teams; it waits for teams without their own.
            together = [_of_team(wanted, owner) for owner in {key.owner for key in changed}]
            for rosters in [*([wanted[key]] for key in changed if key in wanted), *together]:
                with contextlib.suppress(DatabaseUnavailable):
                    if rosters:
                        await self._pushed_index(rosters)
            if wanted is self._wanted:
                self._pushed = wanted

    def all_pushed(self) -> list[PushedRoster]:
        """List every pushed roster in force, of all teams."""
        return list(self._pushed.values())

    def pushed(self, principal: Principal) -> list[PushedRoster]:
        """List the rosters for a caller's prompts: the team's, then the organisation's without namesakes."""
        return _of_team(self._pushed, principal.team)

    def find(self, principal: Principal, name: str) -> PushedRoster | None:
        """Find a pushed roster by its name: the team's, else the organisation's."""
        return self.active(RosterKey("team", principal.team, name)) or self.active(
            RosterKey("organisation", ORGANISATION, name)
        )

    def active(self, key: RosterKey) -> PushedRoster | None:
        """Return the version in force on this server."""
        return self._pushed.get(key)

    async def agents_of(self, roster: PushedRoster) -> list[Agent]:
        """Read a pushed roster's agents. Raise DatabaseUnavailable."""
        return msgspec.convert(await store.agents(self._database, self._organisation, roster), list[Agent])

    def warm(self, principal: Principal, project: str = "") -> None:
        """Index the rosters for a caller's prompts in the background, so that the first need not wait."""
        task = asyncio.create_task(self._warm(Prompt(text="", principal=principal, project=project)))
        self._warming.add(task)
        task.add_done_callback(self._warming.discard)

    async def _warm(self, prompt: Prompt) -> None:
        with contextlib.suppress(DatabaseUnavailable):
            await self.index_for(prompt)

    async def index_for(self, prompt: Prompt) -> RoutingIndex:
        """Return the index for a prompt.

        Raises:
            DatabaseUnavailable: If a pushed, still unindexed roster cannot be read.
            Invalid: If the prompt's own roster is wrong.
            NotFound: If the requested roster is unknown.
        """
        if prompt.inline is not None:
            inline = prompt.inline
            index = self._indexes.cached(inline.digest)
            if index is None:
                agents = inline_agents(inline)
                index = await self._indexes.get(inline.digest, lambda: _already(agents))
            return RoutingIndex(index, {})
        if prompt.roster:
            named = self.find(prompt.principal, prompt.roster)
            return await self._pushed_index([named]) if named else await self._policy_index(prompt, prompt.roster)
        return await self._present_index(prompt)

    async def _present_index(self, prompt: Prompt) -> RoutingIndex:
        """Index the agents present: pushed ones, the team's own tables, and those of the session's client."""
        pushed = self.pushed(prompt.principal)
        in_force = self._policies.find(prompt.principal, prompt.project) or await self._policies.prepare(
            prompt.principal, prompt.project
        )
        rosters = in_force.policies.rosters
        key = (
            tuple((one.name, one.digest) for one in pushed),
            in_force.policies.revision,
            prompt.agents.digest if prompt.agents else "",
        )
        known = self._present.get(key)
        if known is None:
            homes = await self._homes_of(pushed) if pushed else {}
            extra, tables = present_agents(rosters, prompt.agents, homes)
            known = self._present[key] = _PolicyAgents(digest_of(extra) if extra else "", extra, homes | tables)
            if len(self._present) > MOST_REMEMBERED:
                self._present.popitem(last=False)
        if pushed and not known.agents:
            return await self._pushed_index(pushed)

        async def agents() -> Sequence[Agent]:
            stored = [agent for one in pushed for agent in await self._routable(one)]
            return first_of_each_name([*stored, *known.agents])

        digest = _digest_of_all([*(one.digest for one in pushed), known.digest])
        return RoutingIndex(await self._indexes.get(digest, agents), known.homes)

    async def _routable(self, roster: PushedRoster) -> list[Agent]:
        return [one for one in await self.agents_of(roster) if one.name not in GENERAL_AGENTS]

    async def _pushed_index(self, rosters: list[PushedRoster]) -> RoutingIndex:
        async def agents() -> Sequence[Agent]:
            return first_of_each_name([agent for one in rosters for agent in await self._routable(one)])

        digest = rosters[0].digest if len(rosters) == 1 else _digest_of_all([one.digest for one in rosters])
        return RoutingIndex(await self._indexes.get(digest, agents), await self._homes_of(rosters))

    async def _homes_of(self, rosters: list[PushedRoster]) -> dict[str, str]:
        key = tuple((one.name, one.digest) for one in rosters)
        homes = self._homes.get(key)
        if homes is None:
            homes = {}
            for one in rosters:
                index = await self._indexes.get(one.digest, lambda one=one: self._routable(one))  # type: ignore[misc]
                for name in index.names:
                    homes.setdefault(name, one.name)
            self._homes[key] = homes
            if len(self._homes) > MOST_REMEMBERED:
                self._homes.popitem(last=False)
        return homes

    async def _policy_index(self, prompt: Prompt, name: str) -> RoutingIndex:
        in_force = self._policies.find(prompt.principal, prompt.project) or await self._policies.prepare(
            prompt.principal, prompt.project
        )
        rosters = in_force.policies.rosters
        if name not in rosters.by_id:
            raise NotFound(f"there is no roster `{name}`; `GET /routing/rosters` lists those that you can name")
        # By revision: the same policies give the same agents, whichever team asks.
        key = (in_force.policies.revision, name)
        known = self._policy_agents.get(key)
        if known is None:
            agents = tuple(one for one in policy_agents(rosters.by_id[name]) if one.name not in GENERAL_AGENTS)
            known = _PolicyAgents(digest_of(agents), agents, {agent.name: name for agent in agents})
            self._policy_agents[key] = known
            if len(self._policy_agents) > MOST_REMEMBERED:
                self._policy_agents.popitem(last=False)
        return RoutingIndex(await self._indexes.get(known.digest, lambda: _already(known.agents)), known.homes)


def _of_team(rosters: Mapping[RosterKey, PushedRoster], team: str) -> list[PushedRoster]:
    own = [one for one in rosters.values() if one.tier == "team" and one.owner == team]
    names = {one.name for one in own}
    return own + [one for one in rosters.values() if one.tier == "organisation" and one.name not in names]


async def _already(agents: Sequence[Agent]) -> Sequence[Agent]:
    return agents


def _digest_of_all(digests: list[str]) -> str:
    return blake2b("".join(digests).encode(), digest_size=16).hexdigest()
