"""Exports or deletes a user's stored data."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from sqlalchemy import ColumnElement, Table, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.events.personal_events import PersonalEvents
from baton.kernel.base.errors import NotFound, StoreUnavailable
from baton.kernel.base.sql import LARGEST_BATCH, Database, DatabaseUnavailable, StoreErrors
from baton.kernel.changes.announce import Changes
from baton.kernel.http.features import of
from baton.kernel.http.serving.hot_routes import encode
from baton.kernel.redis.client import RedisUnavailable
from baton.machines.inventories import Inventories
from baton.modes.service import KIND as MODES
from baton.operate import retention as retention_store
from baton.operate import tables
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.people.users import Users, require
from baton.people.users_api import Name, Reason
from baton.policies.in_force import KIND as POLICIES
from baton.rules.call.call import Principal
from baton.sessions.exceptions.service import KIND as EXCEPTIONS
from baton.sessions.history import History
from baton.shared.storable import storable

# Queries for all data about one user in the database, table by table.

_SECRET = {"digest", "agent_digest"}
"""Columns that are never exported."""
_NOT_DELETED = {"audit", "tokens", "users"}
"""Tables excluded from deletion: changes must stay traceable, and a revoked token must stay refused."""


def concerning(user: str) -> dict[str, tuple[Table, ColumnElement[bool]]]:
    """Return each table with data about a user, with the condition for the user's rows."""
    name, found = storable(user), {}
    for table in tables.ALL:
        if table.name == "audit":
            found[table.name] = (table, table.c.actor == name)
        elif table.name == "users":
            found[table.name] = (table, table.c.name == name)
        elif table.name == "mode_settings":
            found[table.name] = (table, (table.c.user == name) | ((table.c.scope == "user") & (table.c.id == name)))
        elif table.name == "policy_layers":
            found[table.name] = (table, (table.c.tier == "user") & (table.c.name == name))
        elif "user" in table.c:
            found[table.name] = (table, table.c.user == name)
    return found


async def rows(database: Database, organisation: str, user: str, table: str) -> AsyncIterator[dict[str, Any]]:
    """Yield a table's rows about a user, without secret columns."""
    source, theirs = concerning(user)[table]
    query = select(*(column for column in source.c if column.name not in _SECRET))
    async with database.transaction() as connection:
        result = await connection.stream(query.where(source.c.organisation == organisation, theirs))
        async for row in result:
            yield {str(name): value for name, value in row._asdict().items() if value is not None}


async def session_ids(database: Database, organisation: str, user: str) -> list[str]:
    """Return the ids of the sessions of a user's decisions."""
    decisions, theirs = concerning(user)["decisions"]
    query = select(decisions.c.session_id).where(decisions.c.organisation == organisation, theirs).distinct()
    return [row[0] for row in await database.rows(query)]


async def remove(connection: AsyncConnection, organisation: str, user: str) -> dict[str, int]:
    """Delete a user's rows, except decisions, which may be many; return the number of rows by table."""
    deleted = {}
    for name, (table, of_user) in concerning(user).items():
        if name not in _NOT_DELETED and name != "decisions":
            result = await connection.execute(delete(table).where(table.c.organisation == organisation, of_user))
            deleted[name] = result.rowcount
    return deleted


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
        """Yield the inside of a JSON object: each table's name with a list of rows, then the events on the bus."""
        for number, table in enumerate(sorted(concerning(self._user))):
            yield b"%b%b:[" % (b"," if number else b"", encode(str(table)))
            first = True
            async for row in rows(self._database, self._organisation, self._user, table):
                yield (b"" if first else b",") + encode(row)
                first = False
            yield b"]"
        yield b',"events":['
        first = True
        async for event in self._events.export(self._user, restricted=self._restricted):
            yield (b"" if first else b",") + event
            first = False
        yield b"]"


class UserData:
    """Exports and deletes users' stored data."""

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
        """Prepare an export. Restricted topics contain whole prompts, so only the user's own export has them.

        Raises:
            NotFound: If the principal may not see this user's data.
            StoreUnavailable: If the database is unavailable.
        """
        self._find(principal, "users.export", user)
        with StoreErrors("the user's data cannot be read now; try again"):
            await self._database.look()
        with StoreErrors("the user's events cannot be read now; try again"):
            await self._events.check()
        own = principal.user == user and not principal.agent
        return UserExport(self._database, principal.organisation, user, self._events, restricted=own)

    async def delete(self, principal: Principal, user: str, reason: str = "") -> dict[str, int]:
        """Delete a user's stored data, except tokens and audit entries; return the number of rows by table.

        Events leave the bus first. Copies sent to a webhook, Kafka or a file cannot be deleted.

        Raises:
            NotFound: If the principal may not delete this user's data.
            StoreUnavailable: If the database is unavailable; some decisions may be deleted, all else is kept.
        """
        self._find(principal, "users.delete-data", user)
        organisation = principal.organisation
        with StoreErrors("nothing was deleted: the user's events cannot be reached; try again"):
            events = await self._events.remove(user)
        try:
            sessions = await session_ids(self._database, organisation, user)
            decisions = gone = await retention_store.remove_decisions_of(self._database, organisation, user)
            while gone == LARGEST_BATCH:
                gone = await retention_store.remove_decisions_of(self._database, organisation, user)
                decisions += gone
            # Decisions may be many, so they go in batches first; the rest is one transaction with its audit entry.
            async with self._changes.write(MODES, principal, "user.delete-data") as change:
                await change.also(EXCEPTIONS)
                await change.also(POLICIES)
                deleted = {"decisions": decisions, "events": events} | await remove(
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
        """Delete the agents of the user's clients, and the sessions' state. While Redis is down, the state expires."""
        try:
            await self._inventories.forget(user)
            for session_id in sessions:
                await self._history.forget(user, session_id)
        except RedisUnavailable:
            return


# `/users/{name}/export` and `/users/{name}/data`: export and deletion of a user's stored data.

router = APIRouter(tags=["users"])
UserDataOf = Annotated[UserData, Depends(of(UserData))]


class KeptModel(BaseModel):
    """Everything stored about a user: rows by table name, the user's changes (`audit`), and `events` on the bus.

    Events with whole prompts and file contents are only part of your own export.
    """

    user: str
    exported_at: datetime
    kept: dict[str, list[dict[str, object]]]


class DeletedModel(BaseModel):
    """The number of deleted rows of each table."""

    deleted: dict[str, int]


@router.get("/users/{name}/export", response_model=KeptModel, dependencies=[EXPENSIVE])
async def export_user(caller: CallerOf, user_data: UserDataOf, name: Name) -> StreamingResponse:
    """Export all stored data of a user."""
    parts = await user_data.export(caller.principal, name)

    async def body() -> AsyncIterator[bytes]:
        yield b'{"user":%b,"exported_at":%b,"kept":{' % (encode(name), encode(parts.at))
        async for part in parts.rows(encode):
            yield part
        yield b"}}"

    return StreamingResponse(body(), media_type="application/json")


@router.delete("/users/{name}/data", dependencies=[ADMIN])
async def delete_user_data(caller: CallerOf, user_data: UserDataOf, name: Name, reason: Reason = "") -> DeletedModel:
    """Delete a user's decisions, events, sessions, modes and clients. Tokens and audit entries stay.

    Events sent to a webhook, Kafka or a file cannot be deleted.
    """
    return DeletedModel(deleted=await user_data.delete(caller.principal, name, reason))
