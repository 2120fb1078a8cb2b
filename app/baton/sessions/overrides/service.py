"""Overrides: rules lifted for one session until a time. They are stored in SQL and looked up in memory."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches

import msgspec
from uuid_utils import uuid7

from baton.engine.call.principal import Principal
from baton.engine.call.verdict import EVERY
from baton.kernel.base.errors import Forbidden, Invalid, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.modes.service import Modes
from baton.people.permissions import covers, require
from baton.people.row_scope import row_scope
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.policies.layer_rights import may_write, place_of
from baton.records.review.delegation_share import store as delegation_share_store
from baton.records.review.delegation_share.groups import Group, GroupFilter
from baton.sessions.overrides import store
from baton.sessions.overrides.store import Override

KIND = "overrides"
LONGEST_MINUTES = 480
"""Longest time that a rule may be lifted for, in minutes."""
_AWAY = "overrides cannot be changed now; nothing was changed, try again"
_NONE: frozenset[str] = frozenset()
_RECENT = timedelta(days=7)
"""How far back a session's calls are searched for its user and project."""


class Overrides:
    """All overrides of the organisation that have not ended."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        users: Users,
        policies: Policies,
        modes: Modes,
        *,
        organisation: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._changes = changes
        self._users = users
        self._policies = policies
        self._modes = modes
        self._organisation = organisation
        self._now = now
        self._known: dict[str, Override] = {}
        self._by_session: dict[tuple[str, str], tuple[Override, ...]] = {}
        self._most = 0
        changes.on(KIND, self.load, self.load_some)

    async def load(self) -> None:
        """Read the overrides that have not ended from SQL.

        Raises:
            DatabaseUnavailable: If the database cannot be reached.
        """
        async with self._changes.turn(KIND):
            found = await store.load(self._database, self._organisation, self._now())
            self._known, self._by_session = {}, {}
            for one in found:
                self._put(one)
            self._most = _most(self._known)

    async def load_some(self, ids: list[str]) -> None:
        """Read the overrides of these ids again. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            now = self._now()
            found = await store.load_some(self._database, self._organisation, ids, now)
            for override_id in ids:
                self._forget(override_id)
            for one in found:
                self._put(one)
            # Those that have ended hold no more; looking for them with each change would cost as much as reading all.
            if len(self._known) > self._most:
                for override_id in [one.id for one in self._known.values() if one.expires_at <= now]:
                    self._forget(override_id)
                self._most = _most(self._known)

    def lifted(self, principal: Principal, session_id: str) -> frozenset[str]:
        """Return the ids of the rules that have no effect on a session now.

        None for a delegated agent: it could name the session of its owner for which they were lifted.
        """
        if not self._by_session or principal.job:
            return _NONE
        found = self._by_session.get((principal.user, session_id))
        if found is None:
            return _NONE
        now = self._now()
        return frozenset(one.rule for one in found if one.expires_at > now)

    def find(self, principal: Principal, *, session_id: str = "", user: str = "") -> list[Override]:
        """List the overrides that a principal may see, the newest first.

        Raises:
            Forbidden: If the role may see none.
        """
        require(principal, "overrides.read")
        now = self._now()
        return [
            one
            for one in sorted(self._known.values(), key=lambda one: one.id, reverse=True)
            if one.expires_at > now
            and session_id in {"", one.session_id}
            and user in {"", one.user}
            and self._covers(principal, "overrides.read", one.user)
        ]

    async def make(
        self, principal: Principal, *, session_id: str, user: str, rule: str, reason: str, minutes: int
    ) -> Override:
        """Lift a rule for a session. Without `user`, it is the one whose calls of that session are recorded.

        Raises:
            Forbidden: If the role may lift no rules, or not this one.
            Invalid: If there is no such rule, or the user cannot be found out and must be named.
            NotFound: If the session belongs to somebody for whom the principal may not do this.
            StoreUnavailable: If the database cannot be reached; nothing was changed.
        """
        require(principal, "overrides.write")
        try:
            calls = await self._recent_calls(principal, session_id)
            user = user or _user_of(calls, session_id)
            if not self._covers(principal, "overrides.write", user):
                raise NotFound(f"there is no session `{session_id}` of `{user}`")
            await self._check_rule(principal, user, next((one for one in calls if one.user == user), None), rule)
            now = self._now()
            override = Override(
                id=str(uuid7()),
                session_id=session_id,
                user=user,
                rule=rule,
                reason=reason,
                created_by=principal.user,
                created_at=now,
                expires_at=now + timedelta(minutes=minutes),
            )
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        async with self._changes.write(KIND, principal, "override.make") as change:
            await store.add(change.connection, self._organisation, override)
            await change.concerns([override.id])
            await change.audit(override.id, after=msgspec.to_builtins(override), reason=reason)
        return override

    async def end(self, principal: Principal, override_id: str, reason: str = "") -> None:
        """End an override before its time.

        Raises:
            Forbidden: If the role may not do this.
            NotFound: If there is no such override that the principal may end.
            StoreUnavailable: If the database cannot be reached; nothing was changed.
        """
        require(principal, "overrides.write")
        override = self._known.get(override_id)
        if override is None or not self._covers(principal, "overrides.write", override.user):
            raise NotFound(f"there is no override `{override_id}`")
        async with self._changes.write(KIND, principal, "override.end") as change:
            if await store.remove(change.connection, self._organisation, override_id):
                await change.concerns([override_id])
                await change.audit(override_id, before=msgspec.to_builtins(override), reason=reason)
            else:  # it has expired, or another process ended it
                change.unchanged()

    async def _check_rule(self, principal: Principal, user: str, calls: Group | None, rule: str) -> None:
        """Refuse a rule that is not in force in the session, and one that this principal may not lift.

        Who may write a rule may lift it; rules that the mode switches may also be lifted by the team's lead. Nobody
        lifts a locked rule. Once an admin has unlocked it for that user, the user's own layers may loosen it, so
        whoever lifts rules of the user's sessions may lift it.
        """
        if rule == EVERY:
            if self._modes.locked and principal.role != "admin":
                raise Forbidden(f"the organisation locked the mode's level; only an `admin` may lift `{EVERY}`")
            return
        team = self._users.team_of(user) or (calls.team if calls else "")
        whom = Principal(organisation=principal.organisation, team=team, user=user)
        active = (await self._policies.prepare(whom, calls.project if calls else "", wait_s=None)).policies
        found = next((one for one in active.rules if one.id == rule), None)
        if found is None:
            near = get_close_matches(rule, [one.id for one in active.rules], n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; `{EVERY}` is every rule that the mode switches"
            raise Invalid("rule", f"is `{rule}`, which no rule of `{user}` is called{hint}")
        if rule in active.locked:
            raise Forbidden(
                f"rule `{rule}` is locked (`{active.locks.locked[rule]}`), so no override lifts it;"
                " an `admin` may unlock it for a time: `baton policy unlock`"
            )
        if rule in active.locks.unlocked:
            return
        if found.modes:  # a lead may switch the whole mode of the team, so lifting one of its rules is allowed too
            return
        tier, name = place_of(found.source)
        team = self._users.project_team(name) if tier == "project" else ""
        if not may_write(principal, tier, name, team_of_project=team):
            layer = f"layer `{tier}/{name}`" if tier in {"team", "project", "user"} else "the organisation's policies"
            raise Forbidden(
                f"rule `{rule}` is a guardrail of {layer}, which you may not change, so you may not lift it; "
                "an `admin` may"
            )

    async def _recent_calls(self, principal: Principal, session_id: str) -> list[Group]:
        """Sum up the recent calls of a session that the principal may see, by user."""
        recent = GroupFilter(since=self._now() - _RECENT, session_id=session_id)
        return await delegation_share_store.find(
            self._database,
            self._organisation,
            row_scope(principal, "overrides.write"),
            recent,
            "session",
            agent_tools=(),
        )

    def _covers(self, principal: Principal, action: str, user: str) -> bool:
        return covers(principal, action, user=user, team=self._users.team_of(user))

    def _put(self, override: Override) -> None:
        key = (override.user, override.session_id)
        self._known[override.id] = override
        self._by_session[key] = (*self._by_session.get(key, ()), override)

    def _forget(self, override_id: str) -> None:
        override = self._known.pop(override_id, None)
        if override is not None:
            key = (override.user, override.session_id)
            rest = tuple([one for one in self._by_session.pop(key) if one.id != override_id])
            if rest:
                self._by_session[key] = rest


def _most(known: dict[str, Override]) -> int:
    """Return how many overrides may be known before those that have ended are looked for."""
    return 2 * len(known) + 100


def _user_of(calls: list[Group], session_id: str) -> str:
    users = {group.user for group in calls}
    if len(users) == 1:
        return users.pop()
    if users:
        raise Invalid("user", f"is missing; several users have a session `{session_id}`", sorted(users))
    raise Invalid("user", f"is missing; no call of a session `{session_id}` that you may see is recorded")
