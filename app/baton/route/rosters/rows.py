"""The rosters that hold for a caller, and overrides of their rows in a layer. It resolves no agent: the engine does."""

from typing import Any, Literal

import msgspec

from baton.engine.agents.rosters import AgentMatch, Roster, Row, resolve
from baton.engine.call.principal import Principal
from baton.engine.policy.row_overrides import overrides_of, with_override
from baton.engine.routing.candidates import Agent
from baton.kernel.base.errors import NotFound
from baton.kernel.changes.versions import check
from baton.policies.in_force import Policies
from baton.policies.layers import PolicyLayers, Where
from baton.policies.layers_store import StoredLayer
from baton.route.rosters.in_force import policy_agents
from baton.route.rosters.push import RosterPushes

CONFIG = "config.yaml"


class RosterRow(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: its row with every override, the model that it gets, and what was overridden."""

    agent: str
    model: str
    row: Row
    overridden: list[str]


class ListedRoster(msgspec.Struct, frozen=True, kw_only=True):
    """A roster without its rows; `version` is a pushed one's, 0 for the policies'."""

    id: str
    description: str
    default_model: str
    agents: int
    source: Literal["team", "organisation", "policies"]
    version: int = 0


class RosterRows:
    """Reads the rosters in force, pushed ones first, and writes overrides as new versions of a layer."""

    def __init__(self, policies: Policies, layers: PolicyLayers, pushes: RosterPushes) -> None:
        self._policies = policies
        self._layers = layers
        self._pushes = pushes

    async def listed(self, principal: Principal, project: str) -> list[ListedRoster]:
        """List the rosters that hold for a caller: pushed ones, then the policies' in their order without namesakes."""
        pushed = [
            ListedRoster(
                id=one.name,
                description=one.description,
                default_model="",
                agents=one.size,
                source=one.tier,
                version=one.version,
            )
            for one in self._pushes.pushed(principal)
        ]
        names = {one.id for one in pushed}
        return pushed + [
            ListedRoster(
                id=one.id,
                description=one.description,
                default_model=one.default_model,
                agents=len(one.agents),
                source="policies",
            )
            for one in await self.find(principal, project)
            if one.id not in names
        ]

    async def show(self, principal: Principal, project: str, name: str) -> tuple[ListedRoster, list[RosterRow]]:
        """Give a roster and its rows; a pushed one's have no model of their own.

        Raises:
            NotFound: there is no such roster.
            StoreUnavailable: it was pushed, and the database is away.
        """
        listed = next((one for one in await self.listed(principal, project) if one.id == name), None)
        if listed is None:
            raise NotFound(f"there is no roster `{name}`")
        pushed = self._pushes.find(principal, name)
        if pushed is None:
            _, rows = await self.rows(principal, project, name)
            return listed, rows
        return listed, [
            RosterRow(
                agent=one.name,
                model="",
                row=Row(description=one.description, triggers=[*one.triggers]),
                overridden=[],
            )
            for one in await self._pushes.agents(pushed)
        ]

    async def agent(
        self, principal: Principal, project: str, name: str, agent: str
    ) -> tuple[Literal["team", "organisation", "policies"], int, Agent]:
        """Give an agent's definition, whose roster it stands in, and the version of a pushed one.

        Raises:
            NotFound: there is no such roster or agent.
            StoreUnavailable: the roster was pushed, and the database is away.
        """
        source: Literal["team", "organisation", "policies"]
        pushed = self._pushes.find(principal, name)
        if pushed is not None:
            agents, source, version = await self._pushes.agents(pushed), pushed.tier, pushed.version
        else:
            policies = (await self._policies.prepare(principal, project)).policies
            roster = policies.rosters.by_id.get(name)
            if roster is None:
                raise NotFound(f"there is no roster `{name}`")
            agents, source, version = policy_agents(roster), "policies", 0
        found = next((one for one in agents if one.name == agent), None)
        if found is None:
            raise NotFound(f"roster `{name}` has no agent `{agent}`")
        return source, version, found

    async def find(self, principal: Principal, project: str) -> list[Roster]:
        """Give the rosters that hold for a caller, the first to be asked first, those not in use last."""
        rosters = (await self._policies.prepare(principal, project, wait_s=None)).policies.rosters
        unused = [name for name in rosters.by_id if name not in rosters.order]
        return [rosters.by_id[name] for name in (*rosters.order, *sorted(unused))]

    async def rows(self, principal: Principal, project: str, roster_id: str) -> tuple[Roster, list[RosterRow]]:
        """Give a roster and its rows.

        Raises:
            NotFound: there is no such roster.
        """
        policies = (await self._policies.prepare(principal, project, wait_s=None)).policies
        roster = policies.rosters.by_id.get(roster_id)
        if roster is None:
            raise NotFound(f"there is no roster `{roster_id}`")
        rows = []
        for agent, row in roster.agents.items():
            change = policies.config.overrides.get(f"{roster_id}/{agent}")
            given = msgspec.to_builtins(change) if change is not None else {}
            found: AgentMatch | None = resolve({roster_id: roster}, (roster_id,), agent)
            model = (found.model or "") if found else ""
            rows.append(RosterRow(agent=agent, model=model, row=row or Row(), overridden=sorted(given)))
        return roster, rows

    async def put(
        self,
        principal: Principal,
        where: Where,
        row: str,
        change: dict[str, Any],
        *,
        reason: str,
        seen: str | None,
    ) -> StoredLayer:
        """Override a row (`roster/agent`) in a layer, as its new active version.

        Raises:
            PoliciesRefused: there is no such row, or a value is not allowed.
            PreconditionFailed: another version is active than `seen` names, or none is named.
        """
        files, version = await self._files(principal, where, seen)
        files[CONFIG] = with_override(files.get(CONFIG, ""), row, change)
        return await self._layers.upload(
            principal, where, files, reason=reason or f"override of {row}", activate=True, seen=version
        )

    async def delete(
        self, principal: Principal, where: Where, row: str, *, reason: str, seen: str | None
    ) -> StoredLayer:
        """Take the override of a row out of a layer.

        Raises:
            NotFound: the layer does not override that row.
        """
        files, version = await self._files(principal, where, seen)
        text = files.get(CONFIG, "")
        if row not in overrides_of(text):
            raise NotFound(f"layer `{where}` does not override `{row}`")
        files[CONFIG] = with_override(text, row, None)
        return await self._layers.upload(
            principal, where, files, reason=reason or f"no override of {row}", activate=True, seen=version
        )

    async def _files(self, principal: Principal, where: Where, seen: str | None) -> tuple[dict[str, str], str]:
        """Give the files of the active version that is to be replaced, and which it is."""
        self._layers.require_write_of(principal, where)
        try:
            active = await self._layers.get(principal, where)
        except NotFound:
            return {}, "0"
        check(seen, active.version)
        return dict(active.files), str(active.version)
