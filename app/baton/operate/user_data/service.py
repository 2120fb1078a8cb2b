"""Exports or deletes what is stored about a user."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

from baton.clients.inventories import Inventories
from baton.engine.call.principal import Principal
from baton.events.personal_events import PersonalEvents
from baton.kernel.base.errors import NotFound, StoreUnavailable
from baton.kernel.base.sql import LARGEST_BATCH, Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import RedisUnavailable
from baton.modes.service import KIND as MODES
from baton.operate.retention import store as retention_store
from baton.operate.user_data import store
from baton.people.permissions import require
from baton.people.users import Users
from baton.policies.in_force import KIND as POLICIES
from baton.sessions.history import History
from baton.sessions.overrides.service import KIND as OVERRIDES


class UserExport:
    """Everything stored about one user, read while it is sent."""

    def __init__(
        self, database: Database, organisation: str, user: str, events: PersonalEvents, *, restricted: bool
    ) -> None:
        self._database = database
        self._events = events
        self._restricted = restricted
        self._organisation = organisation
        self._user = user
        self.at = datetime.now(UTC)

    async def rows(self, encode: Callable[[object], bytes]) -> AsyncIterator[bytes]:
        """Yield the inside of a JSON object: each table's name with the list of its rows, then the events on the bus."""
        for number, table in enumerate(sorted(store.concerning(self._user))):
            yield b"%b%b:[" % (b"," if number else b"", encode(str(table)))
            first = True
            async for row in store.rows(self._database, self._organisation, self._user, table):
                yield (b"" if first else b",") + encode(row)
                first = False
            yield b"]"
        yield b',"events":['
        first = True
        async for event in self._events.find(self._user, restricted=self._restricted):
            yield (b"" if first else b",") + event
            first = False
        yield b"]"


class UserData:
    """Gives users what is stored about them, and deletes it."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        users: Users,
        history: History,
        inventories: Inventories,
        events: PersonalEvents,
    ) -> None:
        self._database = database
        self._changes = changes
        self._users = users
        self._history = history
        self._inventories = inventories
        self._events = events

    async def export(self, principal: Principal, user: str) -> UserExport:
        """Prepare an export. Events of restricted topics hold whole prompts, so only the user's own export has them.

        Raises:
            NotFound: If the principal may not see this user's data.
            StoreUnavailable: If the database cannot be reached.
        """
        self._find(principal, "users.export", user)
        if not await self._database.ping():
            raise StoreUnavailable("the user's data cannot be read now; try again")
        try:
            await self._events.check()
        except RedisUnavailable:
            raise StoreUnavailable("the user's events cannot be read now; try again") from None
        own = principal.user == user and not principal.agent
        return UserExport(self._database, principal.organisation, user, self._events, restricted=own)

    async def delete(self, principal: Principal, user: str, reason: str = "") -> dict[str, int]:
        """Delete what is stored about a user, except tokens and audit entries; return the number of rows by table.

        Events leave the bus first. What a webhook, Kafka or a file was given is out of reach.

        Raises:
            NotFound: If the principal may not delete this user's data.
            StoreUnavailable: If the database cannot be reached; some decisions may be deleted, everything else is still there.
        """
        self._find(principal, "users.delete-data", user)
        organisation = principal.organisation
        try:
            events = await self._events.remove(user)
        except RedisUnavailable:
            raise StoreUnavailable("nothing was deleted: the user's events cannot be reached; try again") from None
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
                deleted = {"decisions": decisions, "events": events} | await store.remove(
                    change.connection, organisation, user
                )
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
