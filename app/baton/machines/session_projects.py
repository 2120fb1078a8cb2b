"""Pins a session to the project of its first event, whatever later events name.

A client reads the project from `.git/config` at each call. The agent may edit that file or move to another repository,
but the session keeps its project, with its rules and mode.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import msgspec
from sqlalchemy import select

from baton.kernel.base.sql import Database, DatabaseUnavailable, equal, insert_into, row_of, table_of
from baton.kernel.redis.client import Redis, RedisUnavailable, Script, place_key, session_tag
from baton.people.users import Users
from baton.rules.call.call import Principal, SessionModels, ToolCall
from baton.rules.call.kept import LONGEST_ID
from baton.shared.storable import project_name, storable

REMEMBERED = 20_000  # maximum number of sessions with a cached project per process. Redis knows all.


class Reported(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session start's report: the repository's other worktrees, and the models."""

    worktrees: tuple[str, ...] = ()
    models: SessionModels = SessionModels()


_NOTHING = Reported()
_read = lru_cache(maxsize=1_024)(msgspec.json.Decoder(Reported).decode)


class SessionProject(msgspec.Struct, frozen=True):
    """A session's pinned project and root folder, and the report of its latest start there."""

    project: str
    root: str
    reported: Reported = Reported()

    @classmethod
    def stored(cls, project: bytes | None, root: bytes | None, reported: bytes | None) -> "SessionProject":
        """Return a pin from Redis values."""
        return cls(
            project_name((project or b"").decode()), (root or b"").decode(), _read(reported) if reported else _NOTHING
        )

    def settle(self, call: ToolCall) -> ToolCall:
        """Return a call with this project. Another folder of the same project keeps its own root."""
        same, said = call.project == self.project, self.reported
        root = (call.project_root if same else "") or self.root
        if same and call.project_root == root and said == _NOTHING:
            return call
        return msgspec.structs.replace(
            call,
            project=self.project,
            project_root=root,
            worktrees=(call.worktrees if same else ()) or said.worktrees,
            models=said.models,
        )


class SessionProjects:
    """The pins: in memory for calls, in Redis for all servers."""

    def __init__(self, redis: Redis, ttl_s: int) -> None:
        self._redis = redis
        self._ttl_s = ttl_s
        self._pin = Script.read(Path(__file__).with_name("pin.lua"))
        self._known: OrderedDict[bytes, SessionProject] = OrderedDict()

    def known(self, principal: Principal, session_id: str) -> SessionProject | None:
        """Return a session's pin if this process knows it; None without a session."""
        pin = self._known.get(session_tag(principal, session_id)) if session_id else None
        if pin is None or project_name(pin.project) == pin.project:
            return pin
        return msgspec.structs.replace(pin, project=project_name(pin.project))  # it has become an alias

    def keep(self, principal: Principal, session_id: str, pin: SessionProject) -> None:
        """Cache a pin stored in Redis."""
        if session_id and pin.project:
            self._known[session_tag(principal, session_id)] = pin
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def place(self, principal: Principal, call: ToolCall) -> ToolCall:
        """Return a call with its session's pinned project, if this process knows it."""
        return settled(call, self.known(principal, call.session_id))

    async def placed(self, principal: Principal, call: ToolCall) -> ToolCall:
        """Return a call with its session's pinned project, from whichever server."""
        return settled(call, await self.find(principal, call.session_id))

    def learn(
        self, principal: Principal, call: ToolCall, pin: SessionProject, known: SessionProject | None
    ) -> ToolCall:
        """Return a placed call with the project in Redis for its session, and cache that. The known one changes nothing."""
        if pin.project and pin == known:
            return call
        if pin.project:
            self.keep(principal, call.session_id, pin)
        return settled(call, pin if pin.project else None)

    async def find(self, principal: Principal, session_id: str) -> SessionProject | None:
        """Return a session's pin, from memory or Redis, or None."""
        pin = self.known(principal, session_id)
        if pin is not None or not session_id:
            return pin
        key = place_key(session_tag(principal, session_id))
        try:
            stored = await self._redis.call(b"HMGET", key, "project", "root", "reported")
        except RedisUnavailable:
            return None
        if stored[0]:
            pin = SessionProject.stored(*stored)
            self.keep(principal, session_id, pin)
        return pin

    async def pin(self, principal: Principal, session_id: str, wanted: SessionProject) -> SessionProject:
        """Pin a session unless it is pinned, and return the pin. Raise RedisUnavailable; memory is then used."""
        wanted = SessionProject(storable(wanted.project), storable(wanted.root), wanted.reported)
        known = self.known(principal, session_id)
        if known is not None and known.project == wanted.project:
            known = msgspec.structs.replace(known, reported=wanted.reported)
        self.keep(principal, session_id, known or wanted)
        if not session_id or not wanted.project:
            return wanted
        key = place_key(session_tag(principal, session_id))
        reported = storable(msgspec.json.encode(wanted.reported).decode())
        arguments = (wanted.project, wanted.root, self._ttl_s, reported)
        pin = SessionProject.stored(*await self._redis.script(self._pin, [key], arguments))
        self.keep(principal, session_id, pin)
        return pin


def settled(call: ToolCall, pin: SessionProject | None) -> ToolCall:
    """Return a call with a project: the pinned one, its own, the root or the session's folder."""
    if pin is not None:
        return pin.settle(call)
    return call if call.project else msgspec.structs.replace(call, project=call.project_root or call.cwd)


# Last contacts of clients. A broken hook shows up as silence.


class LastContact(msgspec.Struct, frozen=True, kw_only=True):
    """The last contact with a user's client, and its hook's protocol version or ""."""

    user: str
    client: str
    last_seen: datetime
    protocol: str = ""


CLIENTS_SEEN = table_of("clients_seen", LastContact, keys=("organisation", "user", "client"))


async def note_contacts(database: Database, organisation: str, seen: Sequence[LastContact]) -> None:
    """Store last contacts. An older time never replaces a newer one."""
    insert = insert_into(database.dialect, CLIENTS_SEEN)
    upsert = insert.on_conflict_do_update(
        index_elements=["organisation", "user", "client"],
        set_={"last_seen": insert.excluded.last_seen, "protocol": insert.excluded.protocol},
        where=CLIENTS_SEEN.c.last_seen < insert.excluded.last_seen,
    )
    rows = [row_of(one) | {"organisation": organisation} for one in seen]
    if rows:
        async with database.transaction() as connection:
            await connection.execute(upsert, rows)


async def load(database: Database, organisation: str, user: str = "") -> list[LastContact]:
    """List clients, latest contact first, optionally only a user's."""
    columns = (CLIENTS_SEEN.c.user, CLIENTS_SEEN.c.client, CLIENTS_SEEN.c.last_seen, CLIENTS_SEEN.c.protocol)
    query = select(*columns).where(CLIENTS_SEEN.c.organisation == organisation, *equal(CLIENTS_SEEN, user=user))
    return await database.read(query.order_by(CLIENTS_SEEN.c.last_seen.desc()), LastContact)


MOST = 10_000  # maximum number of clients between two flushes. Others are dropped.
SILENT_AFTER = timedelta(days=1)
FORGOTTEN_AFTER = timedelta(days=7)  # a client without contact for longer is considered unused


class ClientActivity:
    """Collects contacts in memory and flushes them to SQL. A killed process loses the latest ones."""

    def __init__(self, database: Database, users: Users, organisation: str) -> None:
        self._users = users
        self._database = database
        self._organisation = organisation
        self._heard: dict[tuple[str, str], tuple[float, str]] = {}
        self._flushing = asyncio.Lock()  # a list waits for contacts that are being written

    def note(self, principal: Principal, client: str, protocol: str) -> None:
        """Record a contact with a client."""
        key = (principal.user, client[:LONGEST_ID])
        if key in self._heard or len(self._heard) < MOST:
            self._heard[key] = (time.time(), protocol)

    async def list_contacts(self, principal: Principal) -> list[LastContact]:
        """List the clients visible to a principal, latest contact first; [] while the database is unavailable."""
        await self.flush()
        try:
            seen = await load(self._database, self._organisation)
        except DatabaseUnavailable:
            return []
        return [one for one in seen if self._users.covers(principal, "clients.read", one.user)]

    async def flush(self) -> None:
        """Write the contacts to SQL. Keep them while the database is unavailable."""
        async with self._flushing:
            heard, self._heard = self._heard, {}
            seen = [
                LastContact(user=user, client=client, last_seen=datetime.fromtimestamp(at, UTC), protocol=protocol)
                for (user, client), (at, protocol) in heard.items()
            ]
            try:
                await note_contacts(self._database, self._organisation, seen)
            except DatabaseUnavailable:
                self._heard = heard | self._heard


def silent(seen: Sequence[LastContact], used: Mapping[str, datetime], now: datetime) -> set[tuple[str, str]]:
    """Return the clients, as (user, client), with a possibly broken hook.

    Such a client had contact in the last seven days but not on the last one, although its user was active then with
    another client or a token (`used` has each user's latest use).
    """
    latest = dict(used)
    for one in seen:
        latest[one.user] = max(one.last_seen, latest.get(one.user, one.last_seen))
    return {
        (one.user, one.client)
        for one in seen
        if SILENT_AFTER < now - one.last_seen <= FORGOTTEN_AFTER and now - latest[one.user] <= SILENT_AFTER
    }
