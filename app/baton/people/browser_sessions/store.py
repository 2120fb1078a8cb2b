"""The table of browser sessions and sign-in links."""

from datetime import datetime

import msgspec
from sqlalchemy import Index, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, table_of
from baton.shared.storable import storable


class BrowserSession(msgspec.Struct, frozen=True, kw_only=True):
    """A browser's principal and expiry, from a token, an account, or else `user`, `team` and `role`.

    An unused link has `digest` "" and its code's digest in `link`.
    """

    id: str
    digest: str
    link: str
    user: str
    team: str
    role: str
    token_id: str
    account: str = ""
    created_at: datetime
    expires_at: datetime


BROWSER_SESSIONS = table_of(
    "browser_sessions", BrowserSession, Index("ix_browser_sessions_organisation", "organisation", "expires_at")
)


async def load(database: Database, organisation: str, now: datetime) -> list[BrowserSession]:
    """Load the live sessions."""
    query = select(BROWSER_SESSIONS).where(
        BROWSER_SESSIONS.c.organisation == organisation,
        BROWSER_SESSIONS.c.expires_at > now,
        BROWSER_SESSIONS.c.digest != "",
    )
    return await database.read(query, BrowserSession)


async def add(connection: AsyncConnection, organisation: str, session: BrowserSession) -> None:
    """Store a session, or a link."""
    row = msgspec.structs.asdict(session) | {"organisation": organisation}
    names = {name: storable(row[name]) for name in ("user", "team")}
    await connection.execute(insert(BROWSER_SESSIONS).values(row | names))


async def has_link(database: Database, organisation: str, link: str, now: datetime) -> bool:
    """Return whether a link is valid."""
    query = select(BROWSER_SESSIONS.c.id).where(
        BROWSER_SESSIONS.c.organisation == organisation,
        BROWSER_SESSIONS.c.expires_at > now,
        BROWSER_SESSIONS.c.link == link,
        BROWSER_SESSIONS.c.digest == "",
    )
    async with database.transaction() as connection:
        return (await connection.execute(query)).first() is not None


async def claim(
    connection: AsyncConnection,
    organisation: str,
    link: str,
    *,
    session_id: str,
    digest: str,
    now: datetime,
    expires_at: datetime,
) -> BrowserSession | None:
    """Turn a valid link into a session, atomically. Return None for any other link."""
    found = (
        await connection.execute(
            update(BROWSER_SESSIONS)
            .where(
                BROWSER_SESSIONS.c.organisation == organisation,
                BROWSER_SESSIONS.c.link == link,
                BROWSER_SESSIONS.c.digest == "",
                BROWSER_SESSIONS.c.expires_at > now,
            )
            .values(id=session_id, digest=digest, link="", created_at=now, expires_at=expires_at)
            .returning(*BROWSER_SESSIONS.c)
        )
    ).one_or_none()
    return None if found is None else msgspec.convert(found._asdict(), BrowserSession)


async def is_used(connection: AsyncConnection, session_id: str) -> bool:
    """Return whether a session of this id exists."""
    return (
        await connection.execute(select(BROWSER_SESSIONS.c.id).where(BROWSER_SESSIONS.c.id == session_id))
    ).first() is not None


async def remove(connection: AsyncConnection, organisation: str, session_id: str) -> None:
    """Delete a session."""
    await connection.execute(
        delete(BROWSER_SESSIONS).where(
            BROWSER_SESSIONS.c.organisation == organisation, BROWSER_SESSIONS.c.id == session_id
        )
    )


async def forget_ended(connection: AsyncConnection, organisation: str, now: datetime) -> None:
    """Delete ended sessions and expired links."""
    await connection.execute(
        delete(BROWSER_SESSIONS).where(
            BROWSER_SESSIONS.c.organisation == organisation, BROWSER_SESSIONS.c.expires_at <= now
        )
    )
