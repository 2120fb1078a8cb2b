"""Installed hooks by user and client, as reported by `baton hooks install`.

A client with contacts has working hooks. This table reveals hooks without any contact: not yet trusted in the client,
disabled, or connected to another server.
"""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path
from sqlalchemy import delete, select

from baton.kernel.base.sql import Database, DatabaseUnavailable, StoreErrors, row_of, table_of, upsert
from baton.kernel.http.features import of
from baton.kernel.http.fields import Shown
from baton.machines.known_clients import known_client
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK
from baton.people.users import Users, require
from baton.rules.call.call import Principal
from baton.shared.storable import storable


class HooksInstalled(msgspec.Struct, frozen=True, kw_only=True):
    """Your hooks in a client, and their latest installation."""

    user: str
    client: str
    installed_at: datetime


HOOKS_INSTALLED = table_of("hooks_installed", HooksInstalled, keys=("organisation", "user", "client"))


async def put_installed(database: Database, organisation: str, one: HooksInstalled) -> None:
    """Insert or update an installation."""
    async with database.transaction() as connection:
        await upsert(connection, HOOKS_INSTALLED, row_of(one) | {"organisation": organisation})


async def remove(database: Database, organisation: str, user: str, client: str) -> None:
    """Delete a user's installation in a client, idempotently."""
    theirs = (HOOKS_INSTALLED.c.user == storable(user)) & (HOOKS_INSTALLED.c.client == client)
    async with database.transaction() as connection:
        await connection.execute(delete(HOOKS_INSTALLED).where(HOOKS_INSTALLED.c.organisation == organisation, theirs))


async def load(database: Database, organisation: str) -> list[HooksInstalled]:
    """List the installations, latest first."""
    columns = (HOOKS_INSTALLED.c.user, HOOKS_INSTALLED.c.client, HOOKS_INSTALLED.c.installed_at)
    query = (
        select(*columns)
        .where(HOOKS_INSTALLED.c.organisation == organisation)
        .order_by(HOOKS_INSTALLED.c.installed_at.desc())
    )
    return await database.read(query, HooksInstalled)


_AWAY = "the database is unavailable; `baton hooks install` can notify the server later"


class InstalledHooks:
    """Stores people's reports on their own machines, and lists them."""

    def __init__(self, database: Database, users: Users, organisation: str) -> None:
        self._database = database
        self._users = users
        self._organisation = organisation

    async def store(self, principal: Principal, client: str) -> HooksInstalled:
        """Store the installation of the principal's hooks in a client. Raise StoreUnavailable."""
        one = HooksInstalled(user=principal.user, client=client, installed_at=datetime.now(UTC))
        with StoreErrors(_AWAY):
            await put_installed(self._database, self._organisation, one)
        return one

    async def forget(self, principal: Principal, client: str) -> None:
        """Delete the installation of the principal's hooks in a client. Raise StoreUnavailable."""
        with StoreErrors(_AWAY):
            await remove(self._database, self._organisation, principal.user, client)

    async def list_hooks(self, principal: Principal) -> list[HooksInstalled]:
        """List the installations visible to a principal, latest first; [] while the database is unavailable."""
        try:
            found = await load(self._database, self._organisation)
        except DatabaseUnavailable:
            return []
        return [one for one in found if self._users.covers(principal, "clients.read", one.user)]


# `/clients/{client}/hooks`: reports of `baton hooks install` and `uninstall`.

router = APIRouter(tags=["clients"])
InstalledHooksOf = Annotated[InstalledHooks, Depends(of(InstalledHooks))]
ClientName = Annotated[str, Path(max_length=100, examples=["claude-code"])]


@router.put("/clients/{client}/hooks", dependencies=[WORK])
async def put_client_hooks(caller: CallerOf, hooks: InstalledHooksOf, client: ClientName) -> Shown[HooksInstalled]:
    """Record the installation of your hooks in a client. `/status` then reports missing contacts."""
    require(caller.principal, "clients.report")
    return await hooks.store(caller.principal, known_client(client).name)


@router.delete("/clients/{client}/hooks", status_code=204, dependencies=[WORK])
async def delete_client_hooks(caller: CallerOf, hooks: InstalledHooksOf, client: ClientName) -> None:
    """Record the removal of your hooks from a client, idempotently."""
    require(caller.principal, "clients.report")
    await hooks.forget(caller.principal, known_client(client).name)
