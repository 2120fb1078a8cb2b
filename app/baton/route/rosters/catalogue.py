"""The routing rosters in force for a caller: pushed ones first, then those of the policy set's agents tables."""

import msgspec

from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import StoreErrors
from baton.lib.router.agents import Agent
from baton.people.users import require
from baton.policies.agent_tables import AgentTables
from baton.route.rosters.agents import policy_agents
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.roster import PushedRoster, Source
from baton.rules.agents.rosters import Roster
from baton.rules.call.call import Principal


class RoutingRoster(msgspec.Struct, frozen=True, kw_only=True):
    """A roster for routing prompts. `source` is a push, with its `version` and owner, or an agents table."""

    name: str
    description: str
    size: int
    source: Source
    version: int = 0


class Catalogue:
    """Lists and shows the rosters by their names in routing."""

    def __init__(self, in_force: RoutingRosters, tables: AgentTables) -> None:
        self._in_force = in_force
        self._tables = tables

    async def find_all(self, principal: Principal, project: str) -> list[RoutingRoster]:
        """List the rosters in search order, without agents tables hidden by a pushed namesake."""
        require(principal, "rosters.read")
        pushed = [_of_pushed(one) for one in self._in_force.pushed(principal)]
        names = {one.name for one in pushed}
        tables = [_of_table(one) for one in await self._tables.find_all(principal, project) if one.id not in names]
        return [*pushed, *tables]

    async def show(self, principal: Principal, project: str, name: str) -> tuple[RoutingRoster, list[Agent]]:
        """Return a roster and its agents.

        Raises:
            NotFound: If there is no such roster.
            StoreUnavailable: If it was pushed, and the database is unavailable.
        """
        require(principal, "rosters.read")
        pushed = self._in_force.find(principal, name)
        if pushed is None:
            table = await self._tables.get(principal, project, name)
            return _of_table(table), policy_agents(table)
        with StoreErrors("the roster cannot be read now; try again"):
            return _of_pushed(pushed), await self._in_force.agents_of(pushed)

    async def agent(self, principal: Principal, project: str, name: str, agent: str) -> tuple[RoutingRoster, Agent]:
        """Return an agent's definition, and its roster.

        Raises:
            NotFound: If the roster or agent is unknown.
            StoreUnavailable: If the roster was pushed, and the database is unavailable.
        """
        roster, agents = await self.show(principal, project, name)
        found = next((one for one in agents if one.name == agent), None)
        if found is None:
            raise NotFound(f"roster `{name}` has no agent `{agent}`")
        return roster, found


def _of_pushed(roster: PushedRoster) -> RoutingRoster:
    return RoutingRoster(
        name=roster.name, description=roster.description, size=roster.size, source=roster.tier, version=roster.version
    )


def _of_table(table: Roster) -> RoutingRoster:
    return RoutingRoster(
        name=table.id, description=table.description, size=len(policy_agents(table)), source="policies"
    )
