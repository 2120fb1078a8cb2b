"""Pushed rosters: access rights; each push is a version, audited and announced to every server."""

import asyncio
from collections.abc import Sequence

from baton.kernel.base.errors import Forbidden, Invalid, NotFound
from baton.kernel.changes.announce import Changes
from baton.kernel.http.paging import check_if_match
from baton.lib.router.agents import Agent
from baton.people.users import require
from baton.route.rosters import store
from baton.route.rosters.agents import check_agents, digest_of
from baton.route.rosters.in_force import KIND, RoutingRosters
from baton.route.rosters.roster import ORGANISATION, NewVersion, PushedRoster, RosterKey, Tier
from baton.rules.call.call import Principal


class PushedRosters:
    """The rosters pushed by teams and the organisation, each by its key."""

    def __init__(self, changes: Changes, in_force: RoutingRosters) -> None:
        self._changes = changes
        self._in_force = in_force

    def find_all(self, principal: Principal) -> list[PushedRoster]:
        """List the rosters readable by a principal: their team's and the organisation's, for admins all."""
        return [one for one in self._in_force.all_pushed() if _may_read(principal, one.key)]

    def get(self, principal: Principal, key: RosterKey) -> PushedRoster:
        """Return the version in force.

        Raises:
            NotFound: If the roster is unknown, or hidden from the principal.
        """
        found = self._in_force.active(key)
        if found is None or not _may_read(principal, key):
            raise NotFound(f"no roster `{key.name}` was pushed for {_owner(key)}; `GET /rosters` lists those that were")
        return found

    async def push(
        self, principal: Principal, key: RosterKey, new: NewVersion, *, seen: str | None = None
    ) -> PushedRoster:
        """Store a version of a roster and put it in force. Unchanged agents are no new version.

        Raises:
            Forbidden: If the role may not push it.
            NotFound: If it is another team's.
            Invalid: If it has no agent, or an unroutable one.
            PreconditionFailed: If another version is active than `seen` names.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        _require_write(principal, key)
        digest = await asyncio.to_thread(_checked, new.agents)
        organisation = principal.organisation
        async with self._changes.write(KIND, principal, "roster.push") as change:
            before = await store.active_version(change.connection, organisation, key)
            check_if_match(seen, before, required=False)
            active = self._in_force.active(key)
            if active and (active.version, active.digest, active.description) == (before, digest, new.description):
                change.unchanged()
            else:
                version = await store.add(change.connection, organisation, key, new, digest=digest, by=principal.user)
                await change.concerns([key.object])
                await change.audit(
                    str(key),
                    before={"version": before} if before else {},
                    after={"version": version, "agents": len(new.agents)},
                    reason=new.reason,
                )
        await self._in_force.settled()
        found = self._in_force.active(key)
        if found is None:
            raise NotFound(f"roster `{key.name}` was removed at the same time")
        return found

    async def remove(self, principal: Principal, key: RosterKey, *, reason: str = "", seen: str | None = None) -> None:
        """Take a roster out of force; its versions stay.

        Raises:
            Forbidden: If the role may not remove it.
            NotFound: If it is not there, or another team's.
            PreconditionFailed: If another version is active than `seen` names.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        _require_write(principal, key)
        async with self._changes.write(KIND, principal, "roster.remove") as change:
            before = await store.active_version(change.connection, principal.organisation, key)
            if not before:
                raise NotFound(f"no roster `{key.name}` was pushed for {_owner(key)}")
            check_if_match(seen, before, required=False)
            await store.retire(change.connection, principal.organisation, key)
            await change.concerns([key.object])
            await change.audit(str(key), before={"version": before}, reason=reason)
        await self._in_force.settled()


def _checked(agents: Sequence[Agent]) -> str:
    """Check agents and return their digest. A large roster takes a second."""
    check_agents(agents)
    return digest_of(agents)


def key_of(principal: Principal, tier: Tier, team: str, name: str) -> RosterKey:
    """Return the roster of a request; without a team the caller's own.

    Raises:
        Invalid: If the team is missing and the caller has none.
    """
    if tier == "organisation":
        return RosterKey("organisation", ORGANISATION, name)
    owner = team or principal.team
    if not owner:
        raise Invalid("team", "is missing; you are in no team")
    return RosterKey("team", owner, name)


def _may_read(principal: Principal, key: RosterKey) -> bool:
    reach = require(principal, "rosters.read")
    return reach == "organisation" or key.tier == "organisation" or key.owner == principal.team


def _require_write(principal: Principal, key: RosterKey) -> None:
    """Raise Forbidden or NotFound if the caller may not change a roster."""
    if require(principal, "rosters.write") == "organisation":
        return
    if key.tier == "organisation":
        raise Forbidden(f"role `{principal.role}` may not push the organisation's rosters; allowed: `admin`")
    if key.owner != principal.team:
        raise NotFound(f"there is no team `{key.owner}` that you may push a roster for")


def _owner(key: RosterKey) -> str:
    return "the organisation" if key.tier == "organisation" else f"team `{key.owner}`"
