"""Unlocks: an admin frees locked rules for a time, so that layers may relax them. All are audited."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
from uuid_utils import uuid7

from baton.kernel.base.errors import Invalid, NotFound
from baton.kernel.changes.announce import Changes
from baton.lib.text.yaml_lines import did_you_mean
from baton.people.users import Users, require
from baton.policies import store
from baton.policies.in_force import KIND, Policies
from baton.policies.layer_versions import StoredUnlock
from baton.rules.call.call import Principal
from baton.rules.policy.rules.files import locks_on

LONGEST = timedelta(days=30)  # maximum duration of an unlock


class Unlocks:
    """The administration of unlocks. `Policies` has the current ones."""

    def __init__(
        self,
        policies: Policies,
        changes: Changes,
        users: Users,
        *,
        organisation: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._policies = policies
        self._changes = changes
        self._users = users
        self._organisation = organisation
        self._now = now

    def list_unlocks(self, principal: Principal) -> list[StoredUnlock]:
        """List the current unlocks, newest first: all for admins and auditors, otherwise one's own. Raise Forbidden."""
        require(principal, "policies.read")
        sees_all = principal.role in {"admin", "auditor"}
        return [
            one
            for one in reversed(self._policies.unlocks)
            if sees_all or one.concerns(team=principal.team, user=principal.user)
        ]

    async def make(
        self, principal: Principal, *, rule: str, team: str, user: str, reason: str, until: datetime
    ) -> StoredUnlock:
        """Unlock rules for a team, a user or everybody. Raise Forbidden, Invalid or StoreUnavailable."""
        require(principal, "policies.unlock")
        self._check_rule(rule)
        if team and user:
            raise Invalid("user", "is given with `team`; give one of them, or neither for everybody")
        if team:
            self._users.check_team(team)
        now = self._now()
        until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
        if not now < until <= now + LONGEST:
            raise Invalid("until", f"is `{until.isoformat()}`; it must be within the next {LONGEST.days} days")
        unlock = StoredUnlock(
            id=str(uuid7()),
            rule=rule,
            team=team,
            user=user,
            reason=reason,
            created_by=principal.user,
            created_at=now,
            until=until,
        )
        async with self._changes.write(KIND, principal, "policies.unlock") as change:
            await store.add_unlock(change.connection, self._organisation, unlock)
            await change.audit(unlock.id, after=msgspec.to_builtins(unlock), reason=reason)
        return unlock

    async def end(self, principal: Principal, unlock_id: str, reason: str = "") -> None:
        """End an unlock early. Dependent files no longer apply. Raise Forbidden, NotFound or StoreUnavailable."""
        require(principal, "policies.unlock")
        found = next((one for one in self._policies.unlocks if one.id == unlock_id), None)
        if found is None:
            raise NotFound(f"there is no unlock `{unlock_id[:100]}`; `baton policy unlocks` lists them")
        async with self._changes.write(KIND, principal, "policies.lock") as change:
            if await store.remove_unlock(change.connection, self._organisation, unlock_id):
                await change.audit(unlock_id, before=msgspec.to_builtins(found), reason=reason)
            else:  # it has expired, or another process ended it
                change.unchanged()

    def _check_rule(self, rule: str) -> None:
        locked = sorted(self._policies.active.locks.locked)
        try:
            if locks_on([rule], locked).locked:
                return
        except ValueError as error:
            raise Invalid("rule", str(error)) from None
        known = {one.id for one in self._policies.active.rules}
        why = "is not locked" if rule in known else "is neither a locked rule nor a pattern of locked rules"
        raise Invalid("rule", f"is `{rule}`, which {why}{did_you_mean(rule, locked)}")
