"""Pushing rosters: who may, for whom, with which agents; each push is a version, audited and told to every server.

It indexes nothing: `baton.route.rosters.in_force` does, and puts a version in force once it can be asked.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.routing.agent_files import AgentFileError, read
from baton.engine.routing.candidates import Agent
from baton.kernel.base.errors import Forbidden, Invalid, NotFound, StoreUnavailable
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.versions import check
from baton.people.permissions import require
from baton.route.rosters import push_store as store
from baton.route.rosters.in_force import KIND, RoutingRosters, check_agent
from baton.route.rosters.indexes import digest_of
from baton.route.rosters.push_store import ORGANISATION, PushedRoster, Tier

T = TypeVar("T")
_AWAY = "the rosters cannot be read or changed now; nothing was changed, try again"


class RosterPushes:
    """The rosters that teams and the organisation push."""

    def __init__(self, changes: Changes, rosters: RoutingRosters) -> None:
        self._changes = changes
        self._rosters = rosters

    async def push(
        self,
        principal: Principal,
        tier: Tier,
        owner: str,
        name: str,
        *,
        description: str,
        agents: Sequence[Agent],
        if_match: str | None,
        reason: str,
    ) -> PushedRoster:
        """Store a version of a roster and put it in force; the same agents again are no new version.

        Raises:
            Forbidden, NotFound: the roster is not the caller's to push.
            Invalid: it has no agent, or one that cannot be routed to.
            PreconditionFailed: another version is active than `if_match` names.
            StoreUnavailable: the database is away; nothing was changed.
        """
        key = self._key(principal, tier, owner, name)
        _check(agents)
        digest = digest_of(agents)
        organisation = principal.organisation
        async with self._changes.write(KIND, principal, "roster.push") as change:
            before = await store.active_version(change.connection, organisation, *key)
            check(if_match, before, required=False)
            active = self._rosters.active(key)
            if active is not None and (active.version, active.digest, active.description) == (
                before,
                digest,
                description,
            ):
                change.unchanged()
            else:
                version = await store.add(
                    change.connection,
                    organisation,
                    key,
                    description=description,
                    agents=[msgspec.to_builtins(agent) for agent in agents],
                    digest=digest,
                    by=principal.user,
                    reason=reason,
                )
                await change.audit(
                    "/".join(key),
                    before=_version(before),
                    after={"version": version, "agents": len(agents)},
                    reason=reason,
                )
        await self._rosters.settled()
        found = self._rosters.active(key)
        if found is None:
            raise NotFound(f"roster `{name}` was removed at the same time")
        return found

    async def remove(
        self, principal: Principal, tier: Tier, owner: str, name: str, *, if_match: str | None, reason: str
    ) -> None:
        """Take a roster out of force; its versions stay.

        Raises:
            Forbidden, NotFound: it is not there, or not the caller's.
            PreconditionFailed: another version is active than `if_match` names.
            StoreUnavailable: the database is away; nothing was changed.
        """
        key = self._key(principal, tier, owner, name)
        organisation = principal.organisation
        async with self._changes.write(KIND, principal, "roster.remove") as change:
            before = await store.active_version(change.connection, organisation, *key)
            if not before:
                raise NotFound(f"there is no roster `{name}` that was pushed")
            check(if_match, before, required=False)
            await store.retire(change.connection, organisation, key)
            await change.audit("/".join(key), before=_version(before), reason=reason)
        await self._rosters.settled()

    async def agents(self, roster: PushedRoster) -> list[Agent]:
        """Read the agents of a roster.

        Raises:
            StoreUnavailable: the database is away.
        """
        return await self._read(self._rosters.agents_of(roster))

    def pushed(self, principal: Principal) -> list[PushedRoster]:
        """List the pushed rosters that hold for a caller."""
        require(principal, "rosters.read")
        return self._rosters.pushed(principal)

    def find(self, principal: Principal, name: str) -> PushedRoster | None:
        """Find a pushed roster that holds for a caller."""
        require(principal, "rosters.read")
        return self._rosters.find(principal, name)

    def _key(self, principal: Principal, tier: Tier, owner: str, name: str) -> tuple[str, str, str]:
        reach = require(principal, "rosters.write")
        if tier == "organisation":
            if reach != "organisation":
                raise Forbidden(f"role `{principal.role}` may not push the organisation's rosters; allowed: `admin`")
            return ("organisation", ORGANISATION, name)
        owner = owner or principal.team
        if reach != "organisation" and owner != principal.team:
            raise NotFound(f"there is no team `{owner}` that you may push a roster for")
        if not owner:
            raise Invalid("team", "is missing; you are in no team")
        return ("team", owner, name)

    async def _read(self, reading: Awaitable[T]) -> T:
        try:
            return await reading
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None


def _version(version: int) -> dict[str, int]:
    return {"version": version} if version else {}


def _check(agents: Sequence[Agent]) -> None:
    if not agents:
        raise Invalid("agents", "is empty; a roster needs at least one agent")
    first: dict[str, int] = {}
    for number, agent in enumerate(agents):
        check_agent(agent, f"agents[{number}]")
        if first.setdefault(agent.name, number) != number:
            raise Invalid(f"agents[{number}].name", f"is `{agent.name}`, as that of agents[{first[agent.name]}] is")


def agents_in(files: Mapping[str, str]) -> list[Agent]:
    """Read the agents of files by path: Claude Code's markdown as it is, YAML with activation triggers.

    Raises:
        Invalid: a file holds no agent, or one that cannot be routed to, or two hold one of the same name.
    """
    found: dict[str, str] = {}
    agents = []
    for path in sorted(files):
        try:
            agent = read(path, files[path])
        except AgentFileError as error:
            raise Invalid(f"files.{path}", str(error)) from None
        if agent.name in found:
            raise Invalid(f"files.{path}", f"names its agent `{agent.name}`, as `{found[agent.name]}` does")
        check_agent(agent, f"files.{path}")
        found[agent.name] = path
        agents.append(agent)
    return agents
