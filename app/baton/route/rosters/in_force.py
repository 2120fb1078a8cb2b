"""Which agents a prompt is routed over: a pushed roster, an inline one, or the policy set's. It scores nothing."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from baton.engine.agents.rosters import Roster, Row
from baton.engine.call.principal import Principal
from baton.engine.routing.candidates import Agent
from baton.engine.routing.index import Index
from baton.engine.routing.triggers import problem
from baton.kernel.base.errors import Invalid, NotFound
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.policies.in_force import Policies
from baton.route.prompt import Inline, Prompt
from baton.route.rosters import push_store as store
from baton.route.rosters.indexes import Indexes, digest_of
from baton.route.rosters.push_store import ORGANISATION, PushedRoster

KIND = "routing_rosters"
MOST_INLINE = 2_000
"""Agents of one roster."""
LONGEST_NAME = 200
MOST_KNOWN = 64
"""Sets of rosters of which is remembered what agents they have and where each stands, of pushed ones and of policies."""
_Key = tuple[str, str, str]


class Found(msgspec.Struct, frozen=True):
    """The index to route over. `homes` names, by agent, the roster that its definition can be read from."""

    index: Index
    homes: dict[str, str]


class RoutingRosters:
    """The pushed rosters by name, swapped when their indexes stand ready, and the way from a prompt to its index."""

    def __init__(
        self, database: Database, changes: Changes, policies: Policies, indexes: Indexes, organisation: str
    ) -> None:
        self._database = database
        self._changes = changes
        self._policies = policies
        self._indexes = indexes
        self._organisation = organisation
        self._pushed: dict[_Key, PushedRoster] = {}
        self._wanted = self._pushed
        self._loaded = False
        self._swapping: asyncio.Task[None] | None = None
        self._warming: set[asyncio.Task[None]] = set()
        self._homes: OrderedDict[tuple[tuple[str, str], ...], dict[str, str]] = OrderedDict()
        self._of_policies: OrderedDict[tuple[str, str], tuple[str, tuple[Agent, ...], dict[str, str]]] = OrderedDict()
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Read which rosters are active. They are in force once they are indexed, beside the loop. Raises DatabaseUnavailable.

        At the start nothing waits for that: the first prompt has indexed what it needs.
        """
        async with self._changes.turn(KIND):
            self._wanted = {one.key: one for one in await store.active(self._database, self._organisation)}
        if not self._loaded:
            self._loaded, self._pushed = True, self._wanted
        elif self._swapping is None or self._swapping.done():
            self._swapping = asyncio.create_task(self._swap())

    async def settled(self) -> None:
        """Wait until what was read last is in force."""
        if self._swapping is not None:
            await asyncio.shield(self._swapping)

    async def _swap(self) -> None:
        """Index what has changed, then put all of it in force at once; what cannot be indexed now is so when it is asked."""
        while self._pushed is not self._wanted:
            wanted = self._wanted
            changed = {key for key in wanted | self._pushed if wanted.get(key) != self._pushed.get(key)}
            # Teams that have rosters of their own beside the organisation's are too many to wait for when those change.
            together = [_holding(wanted, owner) for owner in {owner for _, owner, _ in changed}]
            for rosters in [*([wanted[key]] for key in changed if key in wanted), *together]:
                with contextlib.suppress(DatabaseUnavailable):
                    if rosters:
                        await self._of_pushed(rosters)
            if wanted is self._wanted:
                self._pushed = wanted

    def pushed(self, principal: Principal) -> list[PushedRoster]:
        """List the rosters that hold for a caller: their team's first, then the organisation's without namesakes."""
        return _holding(self._pushed, principal.team)

    def find(self, principal: Principal, name: str) -> PushedRoster | None:
        """Find a pushed roster by its name: the team's, else the organisation's."""
        return self._pushed.get(("team", principal.team, name)) or self._pushed.get(
            ("organisation", ORGANISATION, name)
        )

    def active(self, key: tuple[str, str, str]) -> PushedRoster | None:
        """Give the version that is in force on this server."""
        return self._pushed.get(key)

    async def agents_of(self, roster: PushedRoster) -> list[Agent]:
        """Read a pushed roster's agents. Raises DatabaseUnavailable."""
        return await self._agents(roster)

    def warm(self, principal: Principal, project: str = "") -> None:
        """Index, beside the loop, what a caller's prompts will be routed over, so that their first need not wait for it."""
        task = asyncio.create_task(self._warm(Prompt(text="", principal=principal, project=project)))
        self._warming.add(task)
        task.add_done_callback(self._warming.discard)

    async def _warm(self, prompt: Prompt) -> None:
        with contextlib.suppress(DatabaseUnavailable):
            await self.index_for(prompt)

    async def index_for(self, prompt: Prompt) -> Found:
        """Give the index that a prompt is routed over.

        Raises:
            DatabaseUnavailable: a pushed roster that is not indexed yet cannot be read.
            NotFound: there is no roster of the name that it asks for.
        """
        if prompt.inline is not None:
            inline = prompt.inline
            found = self._indexes.find(inline.digest)
            if found is None:
                agents = inline_agents(inline)
                found = await self._indexes.get(inline.digest, lambda: _given(agents))
            return Found(found, {})
        if prompt.roster:
            return await self._named(prompt)
        pushed = self.pushed(prompt.principal)
        return await self._of_pushed(pushed) if pushed else await self._of_policy_set(prompt, "")

    async def _named(self, prompt: Prompt) -> Found:
        pushed = self.find(prompt.principal, prompt.roster)
        if pushed is not None:
            return await self._of_pushed([pushed])
        return await self._of_policy_set(prompt, prompt.roster)

    async def _of_pushed(self, rosters: list[PushedRoster]) -> Found:
        async def agents() -> Sequence[Agent]:
            together = [agent for one in rosters for agent in await self._agents(one)]
            return list({agent.name: agent for agent in reversed(together)}.values())[::-1]

        digest = rosters[0].digest if len(rosters) == 1 else _together([one.digest for one in rosters])
        found = await self._indexes.get(digest, agents)
        return Found(found, await self._homes_of(rosters))

    async def _homes_of(self, rosters: list[PushedRoster]) -> dict[str, str]:
        key = tuple((one.name, one.digest) for one in rosters)
        known = self._homes.get(key)
        if known is None:
            known = {}
            for one in rosters:
                index = await self._indexes.get(one.digest, lambda one=one: self._agents(one))  # type: ignore[misc]
                for name in index.names:
                    known.setdefault(name, one.name)
            self._homes[key] = known
            if len(self._homes) > MOST_KNOWN:
                self._homes.popitem(last=False)
        return known

    async def _of_policy_set(self, prompt: Prompt, name: str) -> Found:
        in_force = self._policies.find(prompt.principal, prompt.project) or await self._policies.prepare(
            prompt.principal, prompt.project
        )
        rosters = in_force.policies.rosters
        if name and name not in rosters.by_id:
            raise NotFound(f"there is no roster `{name}`; `GET /rosters` lists those that hold for you")
        key = (in_force.policies.revision, name)
        known = self._of_policies.get(key)
        if known is None:
            chosen = [rosters.by_id[name]] if name else [rosters.by_id[one] for one in rosters.order]
            every = [(roster.id, agent) for roster in reversed(chosen) for agent in reversed(policy_agents(roster))]
            first = {agent.name.lower(): (home, agent) for home, agent in every}  # the first of a name comes last
            agents = [agent for _, agent in first.values()][::-1]
            known = (digest_of(agents), tuple(agents), {agent.name: home for home, agent in first.values()})
            self._of_policies[key] = known
            if len(self._of_policies) > MOST_KNOWN:
                self._of_policies.popitem(last=False)
        digest, given, homes = known
        return Found(await self._indexes.get(digest, lambda: _given(given)), homes)

    async def _agents(self, roster: PushedRoster) -> list[Agent]:
        return msgspec.convert(await store.agents(self._database, self._organisation, roster), list[Agent])


def _holding(rosters: Mapping[_Key, PushedRoster], team: str) -> list[PushedRoster]:
    own = [one for one in rosters.values() if one.tier == "team" and one.owner == team]
    names = {one.name for one in own}
    return own + [one for one in rosters.values() if one.tier == "organisation" and one.name not in names]


def policy_agents(roster: Roster) -> list[Agent]:
    """See a policy roster's rows as routing does; `_default` stands for no agent."""
    return [_of_row(name, row or Row()) for name, row in roster.agents.items() if not name.startswith("_")]


def _of_row(name: str, row: Row) -> Agent:
    return Agent(name=name, description=row.description, body=row.prompt, triggers=tuple(row.triggers))


def inline_agents(inline: Inline) -> list[Agent]:
    """Read an inline roster.

    Raises:
        Invalid: it is no list of agents, or one cannot be routed to; it names the agent and its field.
    """
    try:
        given = msgspec.json.decode(inline.raw, type=list[_InlineAgent])
    except msgspec.ValidationError as error:
        text, _, at = str(error).partition(" - at `$")
        raise Invalid(f"roster{at.rstrip('`')}", f"is not as it should be: {text[0].lower()}{text[1:]}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Invalid("roster", f"is no list of agents: {error}") from None
    if len(given) > MOST_INLINE:
        raise Invalid("roster", f"has {len(given)} agents; at most {MOST_INLINE} are allowed")
    agents = [one.agent() for one in given]
    for number, agent in enumerate(agents):
        check_agent(agent, f"roster[{number}]")
    return list({agent.name: agent for agent in reversed(agents)}.values())[::-1]


def check_agent(agent: Agent, where: str) -> None:
    """Refuse an agent that cannot be routed to; `where` is the field that it stands in.

    Raises:
        Invalid: naming what is wrong with it.
    """
    if not agent.name.strip() or not agent.name.isprintable():
        raise Invalid(f"{where}.name", "is blank, or holds characters that cannot be shown")
    if len(agent.name) > LONGEST_NAME:
        raise Invalid(f"{where}.name", f"has {len(agent.name)} characters; at most {LONGEST_NAME} are allowed")
    for trigger in agent.triggers:
        if wrong := problem(trigger):
            raise Invalid(f"{where}.triggers", f"`{trigger[:100]}` {wrong}")


class _InlineAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as a request may hold it: null is as good as nothing."""

    name: str
    description: str | None = None
    body: str | None = None
    triggers: list[str] | None = None
    capabilities: list[str] | None = None
    examples: list[str] | None = None

    def agent(self) -> Agent:
        return Agent(
            name=self.name.strip(),
            description=self.description or "",
            body=self.body or "",
            triggers=tuple(self.triggers or ()),
            capabilities=tuple(self.capabilities or ()),
            examples=tuple(self.examples or ()),
        )


async def _given(agents: Sequence[Agent]) -> Sequence[Agent]:
    return agents


def _together(digests: list[str]) -> str:
    return blake2b("".join(digests).encode(), digest_size=16).hexdigest()
