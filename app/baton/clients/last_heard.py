"""When each client was last heard of. A hook that no longer works shows as silence."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from baton.clients import last_heard_store as store
from baton.clients.last_heard_store import LastContact
from baton.engine.call.principal import Principal
from baton.engine.call.record import LONGEST_ID
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.users import Users

FLUSH_S = 5.0
"""How often what was heard goes to the database, in seconds."""
MOST = 10_000
"""Clients that are held between two flushes; more are not noted until the next."""
SILENT_AFTER = timedelta(days=1)
FORGOTTEN_AFTER = timedelta(days=7)
"""A client that was not heard of for longer is taken for one that is no longer used."""


class ClientActivity:
    """Collects contacts in memory and writes them to SQL every few seconds; a killed process loses the last ones."""

    def __init__(self, database: Database, users: Users, organisation: str) -> None:
        self._users = users
        self._database = database
        self._organisation = organisation
        self._heard: dict[tuple[str, str], tuple[float, str]] = {}

    def note(self, principal: Principal, client: str, protocol: str) -> None:
        """Note that a client has posted just now."""
        key = (principal.user, client[:LONGEST_ID])
        if key in self._heard or len(self._heard) < MOST:
            self._heard[key] = (time.time(), protocol)

    async def find(self, principal: Principal) -> list[LastContact]:
        """List the clients that a principal may see, the last heard of first; [] while the database is away."""
        await self.flush()
        try:
            seen = await store.load(self._database, self._organisation)
        except DatabaseUnavailable:
            return []
        return [one for one in seen if self._users.covers(principal, "clients.read", one.user)]

    async def flush(self) -> None:
        """Write the contacts to SQL; while the database is away they stay in memory."""
        heard, self._heard = self._heard, {}
        seen = [
            LastContact(user=user, client=client, last_seen=datetime.fromtimestamp(at, UTC), protocol=protocol)
            for (user, client), (at, protocol) in heard.items()
        ]
        try:
            await store.note(self._database, self._organisation, seen)
        except DatabaseUnavailable:
            self._heard = heard | self._heard

    async def run(self, stop: asyncio.Event) -> None:
        """Flush every few seconds, and once more when told to stop."""
        while not stop.is_set():
            await pause(stop, FLUSH_S)
            await self.flush()


def silent(seen: Sequence[LastContact], used: Mapping[str, datetime], now: datetime) -> set[tuple[str, str]]:
    """Return the clients, as (user, client), whose hook may no longer work.

    Such a client was heard of in the last seven days but not in the last one, while its user was at work in that last
    day: another of their clients was heard of, or a token of theirs was used (`used` gives the latest use by user).
    """
    latest = dict(used)
    for one in seen:
        latest[one.user] = max(one.last_seen, latest.get(one.user, one.last_seen))
    return {
        (one.user, one.client)
        for one in seen
        if SILENT_AFTER < now - one.last_seen <= FORGOTTEN_AFTER and now - latest[one.user] <= SILENT_AFTER
    }
