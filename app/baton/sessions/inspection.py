"""Sessions as people look at them: listed, inspected, their history reset. It decides no call."""

from datetime import UTC, datetime, timedelta

import msgspec

from baton.engine.call.modes import Mode
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import NotFound, StoreUnavailable
from baton.kernel.base.periods import start_of
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import audit_store
from baton.kernel.redis.client import RedisUnavailable
from baton.modes.service import Modes
from baton.people.permissions import require
from baton.people.row_scope import row_scope
from baton.records.review import delegation_share_store
from baton.records.review.delegation_groups import FIRST, After, Group, GroupFilter
from baton.sessions.history import History, Past
from baton.sessions.overrides.service import Overrides
from baton.sessions.overrides.store import Override

KEPT = timedelta(days=366)
_AWAY = "sessions cannot be read now; try again"


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to find; all that are set must hold. Without `since`, those of the last seven days."""

    since: datetime | None = None
    until: datetime | None = None
    user: str = ""
    team: str = ""
    project: str = ""
    client: str = ""


class Inspected(msgspec.Struct, frozen=True, kw_only=True):
    """One session: what it did, the mode in force, what Redis holds of it (None while it is away)."""

    seen: Group
    mode: Mode
    past: Past | None
    overrides: list[Override]


class SessionAdmin:
    """The sessions whose calls are recorded."""

    def __init__(self, database: Database, history: History, modes: Modes, overrides: Overrides) -> None:
        self._database = database
        self._history = history
        self._modes = modes
        self._overrides = overrides

    async def find(self, principal: Principal, wanted: SessionFilter, *, after: After, limit: int) -> list[Group]:
        """Find sessions, the one of the newest call first.

        Raises:
            Forbidden: the role may not.
            StoreUnavailable: the database is away.
        """
        asked = msgspec.structs.asdict(wanted)
        asked["since"] = start_of(wanted.since, wanted.until)
        return await self._groups(principal, "sessions.read", GroupFilter(**asked), after=after, limit=limit)

    async def inspect(self, principal: Principal, session_id: str, user: str = "") -> Inspected:
        """Look at one session; without `user` the principal's own comes first.

        Raises:
            NotFound: there is none that the principal may see.
            StoreUnavailable: the database is away.
        """
        seen = await self._one(principal, "sessions.read", session_id, user)
        theirs = msgspec.structs.replace(principal, user=seen.user, team=seen.team)
        try:
            past = await self._history.look(theirs, session_id)
        except RedisUnavailable:
            past = None
        return Inspected(
            seen=seen,
            mode=self._modes.effective(theirs, seen.project, session_id),
            past=past,
            overrides=self._overrides.find(principal, session_id=session_id, user=seen.user),
        )

    async def reset(self, principal: Principal, session_id: str, user: str = "", reason: str = "") -> None:
        """Forget a session's look-ups, so that its next one counts as the first; its decisions stay.

        Raises:
            Forbidden: the role may not.
            NotFound: there is none that the principal may reset.
            StoreUnavailable: the database or Redis is away.
        """
        require(principal, "sessions.write")
        seen = await self._one(principal, "sessions.write", session_id, user)
        theirs = msgspec.structs.replace(principal, user=seen.user)
        try:
            past = await self._history.look(theirs, session_id)
            async with self._database.transaction() as connection:
                await audit_store.add(
                    connection,
                    principal,
                    action="session.reset",
                    kind="session",
                    object=f"{seen.user}/{session_id}",
                    before=msgspec.to_builtins(past.calls),
                    reason=reason,
                )
                await self._history.reset(theirs, session_id)
        except (DatabaseUnavailable, RedisUnavailable):
            raise StoreUnavailable("the session cannot be reset now; nothing was changed, try again") from None

    async def _one(self, principal: Principal, action: str, session_id: str, user: str) -> Group:
        wanted = GroupFilter(since=datetime.now(UTC) - KEPT, session_id=session_id, user=user)
        found = await self._groups(principal, action, wanted, after=FIRST, limit=50)
        if not found or not session_id:
            raise NotFound(f"there is no session `{session_id}`; one that has just begun may take a second to appear")
        return next((one for one in found if one.user == principal.user), found[0])

    async def _groups(
        self, principal: Principal, action: str, wanted: GroupFilter, *, after: After, limit: int
    ) -> list[Group]:
        theirs = row_scope(principal, action)
        try:
            return await delegation_share_store.find(
                self._database,
                principal.organisation,
                theirs,
                wanted,
                "session",
                agent_tools=(),
                after=after,
                limit=limit,
            )
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
