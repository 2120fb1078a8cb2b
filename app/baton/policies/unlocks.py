"""Unlocks: an admin frees locked rules for a time, so that layers may loosen them. Each is audited."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
from uuid_utils import uuid7

from baton.engine.call.principal import Principal
from baton.engine.policy.rules.locks import locks_on
from baton.engine.text.yaml_lines import did_you_mean
from baton.kernel.base.errors import Invalid, NotFound
from baton.kernel.changes.announce import Changes
from baton.people.permissions import require
from baton.people.users import Users
from baton.policies.in_force import KIND, Policies
from baton.policies.stores import unlocks as store
from baton.policies.stores.unlocks import StoredUnlock

LONGEST = timedelta(days=30)
"""Longest time that a rule may be unlocked for."""


class Unlocks:
    """The administration of unlocks. Which of them hold now, `Policies` knows."""

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

    def find(self, principal: Principal) -> list[StoredUnlock]:
        """List the unlocks that hold now, the newest first: to admins and auditors all, to others those for them.

        Raises:
            Forbidden: If the role may see none.
        """
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
        """Unlock a rule, or the rules of a pattern, for a team, for a user, or for everybody.

        Raises:
            Forbidden: If the role may not unlock.
            Invalid: If nothing of that name is locked, the time is past or too far away, or there is no such team.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        require(principal, "policies.unlock")
        self._check_rule(rule)
        if team and user:
            raise Invalid("user", "stands beside `team`; name one of them, or neither for everybody")
        if team:
            self._users.check_team(team)
        now = self._now()
        until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
        if not now < until <= now + LONGEST:
            raise Invalid("until", f"is `{until.isoformat()}`; it must lie in the next {LONGEST.days} days")
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
            await store.add(change.connection, self._organisation, unlock)
            await change.audit(unlock.id, after=msgspec.to_builtins(unlock), reason=reason)
        return unlock

    async def end(self, principal: Principal, unlock_id: str, reason: str = "") -> None:
        """End an unlock before its time: what it allowed no longer fits, and is left out.

        Raises:
            Forbidden: If the role may not unlock.
            NotFound: If there is no such unlock.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        require(principal, "policies.unlock")
        found = next((one for one in self._policies.unlocks if one.id == unlock_id), None)
        if found is None:
            raise NotFound(f"there is no unlock `{unlock_id[:100]}`")
        async with self._changes.write(KIND, principal, "policies.lock") as change:
            if await store.remove(change.connection, self._organisation, unlock_id):
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
