"""The table of tokens."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import Index, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import LARGEST_BATCH, Database, equal, table_of
from baton.people.directory import Token
from baton.shared.storable import storable

TOKENS = table_of("tokens", Token, Index("ix_tokens_organisation", "organisation", "id"))


async def load_all(database: Database, organisation: str) -> list[Token]:
    """Load all tokens of an organisation, newest first."""
    query = (
        select(TOKENS)
        .where(TOKENS.c.organisation == organisation)
        .order_by(TOKENS.c.created_at.desc(), TOKENS.c.id.desc())
    )
    return await database.read(query, Token)


async def load_some(database: Database, organisation: str, ids: Sequence[str]) -> list[Token]:
    """Load the existing tokens of some ids."""
    found: list[Token] = []
    async with database.transaction() as connection:
        for start in range(0, len(ids), LARGEST_BATCH):
            some = TOKENS.c.id.in_(ids[start : start + LARGEST_BATCH])
            query = select(TOKENS).where(TOKENS.c.organisation == organisation, some)
            found += [msgspec.convert(row._asdict(), Token) for row in await connection.execute(query)]
    return found


async def add(connection: AsyncConnection, organisation: str, token: Token) -> None:
    """Store a new token."""
    row = msgspec.structs.asdict(token) | {
        "organisation": organisation,
        "user": storable(token.user),
        "machine": storable(token.machine),
    }
    await connection.execute(insert(TOKENS).values(row | {"created_by": storable(token.created_by)}))


async def revoke(connection: AsyncConnection, organisation: str, token_id: str, at: datetime) -> None:
    """Mark a token as revoked. The first revocation time remains."""
    await connection.execute(
        update(TOKENS)
        .where(TOKENS.c.organisation == organisation, TOKENS.c.id == token_id, TOKENS.c.revoked_at.is_(None))
        .values(revoked_at=at)
    )


async def live(connection: AsyncConnection, organisation: str, role: str, now: datetime, user: str = "") -> int:
    """Count the tokens of a role, or of one user's, that are neither revoked nor expired."""
    query = select(func.count()).where(
        TOKENS.c.organisation == organisation,
        TOKENS.c.role == role,
        *equal(TOKENS, user=user),
        TOKENS.c.revoked_at.is_(None),
        TOKENS.c.expires_at.is_(None) | (TOKENS.c.expires_at > now),
    )
    return (await connection.execute(query)).scalar_one()


async def note_used(database: Database, organisation: str, used: Mapping[str, datetime]) -> None:
    """Store last-use times. An older time never replaces a newer one."""
    if not used:
        return
    async with database.transaction() as connection:
        for token_id, at in sorted(used.items()):
            older = TOKENS.c.last_used_at.is_(None) | (TOKENS.c.last_used_at < at)
            await connection.execute(
                update(TOKENS)
                .where(TOKENS.c.organisation == organisation, TOKENS.c.id == token_id, older)
                .values(last_used_at=at)
            )
