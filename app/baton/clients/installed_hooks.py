"""Whose hooks are installed in which client, as `baton hooks install` reports it.

A client that was heard of has hooks that work. What this adds is the hooks that were never heard of: installed, but not
trusted in the client yet, switched off there, or asking another server.
"""

from datetime import UTC, datetime

from baton.clients import installed_hooks_store as store
from baton.clients.installed_hooks_store import HooksInstalled
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.users import Users

_AWAY = "the database is away; `baton hooks install` can tell the server later"


class InstalledHooks:
    """Notes what people report of their own machines, and lists it for those who may see it."""

    def __init__(self, database: Database, users: Users, organisation: str) -> None:
        self._database = database
        self._users = users
        self._organisation = organisation

    async def note(self, principal: Principal, client: str) -> HooksInstalled:
        """Note that the principal has installed the hooks of a client. Raises StoreUnavailable."""
        one = HooksInstalled(user=principal.user, client=client, installed_at=datetime.now(UTC))
        try:
            await store.put(self._database, self._organisation, one)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        return one

    async def forget(self, principal: Principal, client: str) -> None:
        """Forget the principal's hooks in a client. Raises StoreUnavailable."""
        try:
            await store.remove(self._database, self._organisation, principal.user, client)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def find(self, principal: Principal) -> list[HooksInstalled]:
        """List the hooks that a principal may see, the last installed first; [] while the database is away."""
        try:
            found = await store.load(self._database, self._organisation)
        except DatabaseUnavailable:
            return []
        return [one for one in found if self._users.covers(principal, "clients.read", one.user)]
