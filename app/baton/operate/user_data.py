"""Exports or deletes what is stored about a user."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

from baton.clients.inventories import Inventories
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import NotFound, StoreUnavailable
from baton.kernel.base.sql import LARGEST_BATCH, Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import RedisUnavailable
from baton.modes.service import KIND as MODES
from baton.operate import retention_store
from baton.operate import user_data_store as store
from baton.people.permissions import require
from baton.people.users import Users
from baton.policies.in_force import KIND as POLICIES
from baton.sessions.history import History
from baton.sessions.overrides.service import KIND as OVERRIDES


class UserExport:
    """Everything stored about one user, read while it is sent."""

    def __init__(self, database: Database, organisation: str, user: str) -> None:
        self._database = database
        self._organisation = organisation
        self._user = user
        self.at = datetime.now(UTC)

    async def rows(self, encode: Callable[[object], bytes]) -> AsyncIterator[bytes]:
        """Yield the inside of a JSON object: each table's name with the list of its rows."""
        for number, table in enumerate(sorted(store.concerning(self._user))):
            yield b"%b%b:[" % (b"," if number else b"", encode(str(table)))
            first = True
            async for row in store.rows(self._database, self._organisation, self._user, table):
                yield (b"" if first else b",") + encode(row)
                first = False
            yield b"]"


class UserData:
    """Gives users what is stored about them, and deletes it."""

    def __init__(
        self, database: Database, changes: Changes, users: Users, history: History, inventories: Inventories
    ) -> None:
        self._database = database
        self._changes = changes
        self._users = users
        self._history = history
        self._inventories = inventories

    async def export(self, principal: Principal, user: str) -> UserExport:
        """Prepare an export.

        Raises:
            NotFound: If the principal may not see this user's data.
            StoreUnavailable: If the database cannot be reached.
        """
        self._find(principal, "users.export", user)
        if not await self._database.ping():
            raise StoreUnavailable("the user's data cannot be read now; try again")
        return UserExport(self._database, principal.organisation, user)

    async def delete(self, principal: Principal, user: str, reason: str = "") -> dict[str, int]:
        """Delete what is stored about a user, except tokens and audit entries; return the number of rows by table.

        Raises:
            NotFound: If the principal may not delete this user's data.
            StoreUnavailable: If the database cannot be reached; some decisions may be deleted, everything else is still there.
        """
        self._find(principal, "users.delete-data", user)
        organisation = principal.organisation
        try:
            sessions = await store.session_ids(self._database, organisation, user)
            decisions = gone = await retention_store.remove_decisions_of(self._database, organisation, user)
            while gone == LARGEST_BATCH:
                gone = await retention_store.remove_decisions_of(self._database, organisation, user)
                decisions += gone
            # Decisions may be many, so they go in batches first; the rest is one transaction with its audit entry.
            async with self._changes.write(MODES, principal, "user.delete-data") as change:
                await change.also(OVERRIDES)
                await change.also(POLICIES)
                deleted = {"decisions": decisions} | await store.remove(change.connection, organisation, user)
                await change.audit(user, after=deleted, reason=reason)
        except (DatabaseUnavailable, StoreUnavailable):
            raise StoreUnavailable("not everything was deleted; try again") from None
        await self._forget(Principal(organisation=organisation, user=user), sessions)
        return deleted

    def _find(self, principal: Principal, action: str, user: str) -> None:
        require(principal, action)
        if not self._users.covers(principal, action, user):
            raise NotFound(f"there is no user `{user}`")

    async def _forget(self, user: Principal, sessions: list[str]) -> None:
        """Forget the agents of the user's clients, and the sessions' state. If Redis is down, the state expires by itself."""
        try:
            await self._inventories.forget(user)
            for session_id in sessions:
                await self._history.forget(user, session_id)
        except RedisUnavailable:
            return
