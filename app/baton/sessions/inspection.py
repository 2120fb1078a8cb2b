"""Lists and inspects sessions, and resets their history, for people."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from baton.delegate.jobs.costs import Price, price_of_call
from baton.kernel.base.clock import start_of
from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.changes import audit_store
from baton.kernel.redis.client import RedisUnavailable
from baton.modes.service import Modes
from baton.people.users import require, row_scope
from baton.records.review.delegation_share import store as delegation_share_store
from baton.records.review.delegation_share.groups import FIRST, After, CallGroup, GroupFilter
from baton.rules.call.call import Principal
from baton.rules.call.modes import Mode
from baton.sessions import activity as activity_store
from baton.sessions.activity import LIVE, CallTokens, JobActivity, SessionActivity, SessionAgent, SessionKey, tree_of
from baton.sessions.exceptions.service import Exceptions, RuleException
from baton.sessions.history import History, Past

LONGEST_AGE = timedelta(days=366)
"""A session without a call for longer than this is not found."""
_AWAY = "sessions cannot be read now; try again"


class SessionDetails(msgspec.Struct, frozen=True, kw_only=True):
    """One session: its calls in sum, the mode in force, its exceptions, and its state in Redis (None if unknown)."""

    calls: CallGroup
    activity: SessionActivity
    agents: list[SessionAgent]
    mode: Mode
    past: Past | None
    exceptions: list[RuleException]


class SessionAdmin:
    """Inspects and resets sessions with recorded calls."""

    def __init__(
        self, database: Database, history: History, modes: Modes, exceptions: Exceptions, prices: Mapping[str, Price]
    ) -> None:
        self._prices = dict(prices)
        self._database = database
        self._history = history
        self._modes = modes
        self._exceptions = exceptions

    async def search(
        self, principal: Principal, wanted: dict[str, Any], *, after: After, limit: int
    ) -> list[CallGroup]:
        """Find sessions by fields of `GroupFilter` and `live` (a call within `LIVE`), the one with the newest call first.

        Raises:
            Forbidden: If the role may not do this.
            StoreUnavailable: If the database cannot be reached.
        """
        asked = wanted | {"since": start_of(wanted["since"], wanted["until"])}
        asked["called_since"] = datetime.now(UTC) - LIVE if asked.pop("live") else None
        return await self._groups(principal, "sessions.read", GroupFilter(**asked), after=after, limit=limit)

    async def activity(self, principal: Principal, sessions: Sequence[CallGroup]) -> dict[SessionKey, SessionActivity]:
        """Return the activity of sessions by their ids and users.

        Raises:
            StoreUnavailable: If the database cannot be reached.
        """
        keys = [(one.session_id, one.user) for one in sessions]
        if not keys:
            return {}
        scope, organisation = row_scope(principal, "sessions.read"), principal.organisation
        async with self._database.transaction(_AWAY) as connection:
            jobs = await activity_store.jobs(connection, organisation, scope, keys)
            tokens = await activity_store.call_tokens(connection, organisation, scope, keys)
            agents = await activity_store.agent_counts(connection, organisation, scope, keys)
        usd = self._usd(jobs, tokens)
        return {
            key: SessionActivity(
                waiting=sum(one.waiting for one in jobs if (one.session_id, one.user) == key),
                jobs=sum(one.active for one in jobs if (one.session_id, one.user) == key),
                agents=agents.get(key, 0),
                usd=usd.get(key),
            )
            for key in keys
        }

    def _usd(self, jobs: Sequence[JobActivity], tokens: Sequence[CallTokens]) -> dict[SessionKey, float]:
        found: dict[SessionKey, float] = {}
        for one in jobs:
            # A job without a tier is priced as an expensive one, as in `GET /analytics/cost`.
            price = self._prices.get(one.tier, self._prices["EXPENSIVE"])
            usd = one.usd + price.cost(one.priced_input, one.priced_cached, one.priced_output)
            if usd or one.costed:
                key = (one.session_id, one.user)
                found[key] = found.get(key, 0.0) + usd
        for call in tokens:
            cost = price_of_call(self._prices, call.model, call.input_tokens, call.cached_tokens, call.output_tokens)
            if cost is not None:
                key = (call.session_id, call.user)
                found[key] = found.get(key, 0.0) + cost
        return found

    async def inspect(self, principal: Principal, session_id: str, user: str = "") -> SessionDetails:
        """Show one session. If several users share the id and `user` is empty, the principal's own is preferred.

        Raises:
            NotFound: If the session is unknown, or hidden from the principal.
            StoreUnavailable: If the database cannot be reached.
        """
        calls = await self._one(principal, "sessions.read", session_id, user)
        theirs = msgspec.structs.replace(principal, user=calls.user, team=calls.team)
        try:
            past = await self._history.look(theirs, session_id)
        except RedisUnavailable:
            past = None
        key = (calls.session_id, calls.user)
        return SessionDetails(
            calls=calls,
            activity=(await self.activity(principal, [calls]))[key],
            agents=await self._agents(principal, key),
            mode=self._modes.effective(theirs, calls.project, session_id),
            past=past,
            exceptions=await self._exceptions.find(principal, session_id=session_id, user=calls.user),
        )

    async def reset(self, principal: Principal, session_id: str, user: str = "", reason: str = "") -> None:
        """Forget a session's look-ups, so that the next one counts as the first. Its decisions stay.

        Raises:
            Forbidden: If the role may not do this.
            NotFound: If the session is unknown, or the principal may not reset it.
            StoreUnavailable: If the database or Redis cannot be reached; nothing was changed.
        """
        require(principal, "sessions.write")
        calls = await self._one(principal, "sessions.write", session_id, user)
        theirs = msgspec.structs.replace(principal, user=calls.user)
        with StoreErrors("the session cannot be reset now; nothing was changed, try again"):
            past = await self._history.look(theirs, session_id)
            async with self._database.transaction() as connection:
                await audit_store.add(
                    connection,
                    principal,
                    action="session.reset",
                    object=f"{calls.user}/{session_id}",
                    before=msgspec.to_builtins(past.calls),
                    reason=reason,
                )
                # Inside the transaction: if Redis fails, the audit entry is rolled back too.
                await self._history.reset(theirs, session_id)

    async def _agents(self, principal: Principal, key: SessionKey) -> list[SessionAgent]:
        scope = row_scope(principal, "sessions.read")
        async with self._database.transaction(_AWAY) as connection:
            found = await activity_store.agents(connection, principal.organisation, scope, key)
        return tree_of(*found, self._prices)

    async def _one(self, principal: Principal, action: str, session_id: str, user: str) -> CallGroup:
        wanted = GroupFilter(since=datetime.now(UTC) - LONGEST_AGE, session_id=session_id, user=user)
        found = await self._groups(principal, action, wanted, after=FIRST, limit=50)
        if not found or not session_id:
            raise NotFound(f"there is no session `{session_id}`; a new one may take a second to appear")
        return next((one for one in found if one.user == principal.user), found[0])

    async def _groups(
        self, principal: Principal, action: str, wanted: GroupFilter, *, after: After, limit: int
    ) -> list[CallGroup]:
        theirs = row_scope(principal, action)
        with StoreErrors(_AWAY):
            return await delegation_share_store.find_groups(
                self._database,
                principal.organisation,
                theirs,
                wanted,
                "session",
                agent_tools=(),
                after=after,
                limit=limit,
            )
