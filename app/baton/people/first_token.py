"""An admin's token that nobody has to ask for: at the first start, and where the last one is lost. It is shown once."""

import os
from datetime import UTC, datetime
from pathlib import Path

from baton.engine.call.principal import Principal
from baton.kernel.base.sql import Database
from baton.kernel.changes.write import Change, write
from baton.people import tokens as service
from baton.people.directory import User
from baton.people.stores import tokens as tokens_store
from baton.people.stores import users as users_store
from baton.people.users import KIND as USERS
from baton.people.users import object_of

ON_THE_MACHINE = "made on the server's machine"
"""The reason that the audit log gives for a recovery."""


async def ensure(database: Database, principal: Principal, file: Path) -> str:
    """Make a token for this admin unless a live one of an admin exists; give its text, "" where none was made.

    The text also goes to `file`, which only its owner can read. Of servers that start at once, one makes it.

    Raises:
        DatabaseUnavailable: The database is away.
        OSError: The file cannot be written; no token was made.
    """
    organisation, now = principal.organisation, datetime.now(UTC)
    async with database.transaction() as connection:
        if await tokens_store.live_admins(connection, organisation, now):
            return ""
    async with write(database, service.KIND, principal, "token.create") as change:
        # A server that starts at the same time waited for this change, and finds its token here.
        if await tokens_store.live_admins(change.connection, organisation, now):
            change.unchanged()
            return ""
        text = await _add(change, principal, now, None, "first start without an admin's token")
        _write(file, text)
    return text


async def recover(database: Database, principal: Principal, expires_at: datetime | None) -> str:
    """Make another token for this admin, whoever has one; give its text. Running servers take it within a second.

    Raises:
        DatabaseUnavailable: The database is away.
        ValueError: The user is disabled.
    """
    async with write(database, service.KIND, principal, "token.create") as change:
        return await _add(change, principal, datetime.now(UTC), expires_at, ON_THE_MACHINE)


async def _add(change: Change, principal: Principal, now: datetime, expires_at: datetime | None, reason: str) -> str:
    """Make the token, and enter its user if they are not known yet."""
    organisation, name = principal.organisation, principal.user
    user = await users_store.find(change.connection, organisation, User, name)
    if user is None:
        user = User(name=name, team=principal.team, created_at=now)
        await change.also(USERS, [object_of(user)])
        await users_store.put(change.connection, organisation, user)
    elif user.disabled_at is not None:
        raise ValueError(f"`{name}` is disabled, and so would be the token; name somebody else")
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
