"""The first admin's token, made when a server that asks for tokens starts and has none. It is shown once."""

import os
from datetime import UTC, datetime
from pathlib import Path

from app.engine.principal import Principal
from app.services import tokens as service
from app.store import audit, tokens, users
from app.store import changes as numbers
from app.store.sql import Database
from app.store.users import User


async def ensure(database: Database, principal: Principal, file: Path) -> str:
    """Make a token for this admin unless a live one of an admin exists; give its text, "" where none was made.

    The text also goes to `file`, which only its owner can read. Of servers that start at once, one makes it.

    Raises:
        DatabaseUnavailable: the database is away.
        OSError: the file cannot be written; no token was made.
    """
    organisation, now = principal.organisation, datetime.now(UTC)
    async with database.transaction() as connection:
        if await tokens.live_admins(connection, organisation, now):
            return ""
    async with database.transaction() as connection:
        # The first write takes the row: a server that starts at the same time waits here, then finds the token.
        await numbers.raise_number(connection, organisation, service.KIND)
        if await tokens.live_admins(connection, organisation, now):
            return ""
        token, text = service.made(principal.user, "admin", created_by=principal.user, now=now, expires_at=None)
        await tokens.add(connection, organisation, token)
        known = (await users.load_with(connection, organisation)).users.get(principal.user)
        team = known.team if known is not None else principal.team
        created_at = known.created_at if known is not None else now
        await users.put(connection, organisation, User(name=principal.user, team=team, created_at=created_at))
        await numbers.raise_number(connection, organisation, "users")
        await audit.add(
            connection,
            principal,
            action="token.create",
            kind="token",
            object=token.id,
            after=service.shown(token),
            reason="first start without an admin's token",
        )
        _write(file, text)
    return text


def _write(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(text + "\n")
