"""The first admin token: created at the first start, or as a recovery. It is shown once."""

import os
from datetime import UTC, datetime
from pathlib import Path

from baton.kernel.base.sql import Database
from baton.kernel.changes.write import SqlChange, write
from baton.people import tokens as service
from baton.people import tokens_store, users_store
from baton.people.directory import User
from baton.people.users import KIND as USERS
from baton.people.users import object_of
from baton.rules.call.call import Principal

ON_THE_MACHINE = "made on the server's machine"  # the audit reason of a recovery


async def ensure(database: Database, principal: Principal, file: Path) -> str:
    """Create an admin's token unless there is a live one. Return it, or "". Of several servers, one creates it.

    It is also written to `file`, readable only by its owner. Raise DatabaseUnavailable, or OSError without a token.
    """
    organisation, now = principal.organisation, datetime.now(UTC)
    async with database.transaction() as connection:
        if await tokens_store.live(connection, organisation, "admin", now):
            return ""
    async with write(database, service.KIND, principal, "token.create") as change:
        # A server that started at the same time waited for this change, and finds its token here.
        if await tokens_store.live(change.connection, organisation, "admin", now):
            change.unchanged()
            return ""
        text = await _add(change, principal, now, None, "first start without an admin's token")
        _write(file, text)
    return text


async def recover(database: Database, principal: Principal, expires_at: datetime | None) -> str:
    """Create and return another token. Raise DatabaseUnavailable, or ValueError for a disabled user."""
    async with write(database, service.KIND, principal, "token.create") as change:
        return await _add(change, principal, datetime.now(UTC), expires_at, ON_THE_MACHINE)


async def _add(change: SqlChange, principal: Principal, now: datetime, expires_at: datetime | None, reason: str) -> str:
    """Create the token, and its user if unknown."""
    organisation, name = principal.organisation, principal.user
    user = await users_store.find_row(change.connection, organisation, User, name)
    if user is None:
        user = User(name=name, team=principal.team, created_at=now)
        await change.also(USERS, [object_of(user)])
        await users_store.put_row(change.connection, organisation, user)
    elif user.disabled_at is not None:
        raise ValueError(f"`{name}` is disabled; name another user")
    token, text = service.made(name, "admin", created_by=name, now=now, expires_at=expires_at)
    await tokens_store.add(change.connection, organisation, token)
    await change.concerns([token.id])
    await change.audit(token.id, after=service.shown(token, user.team), reason=reason)
    return text


def _write(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(text + "\n")
