"""The table of registered webhooks, and its queries."""

from datetime import datetime
from typing import ClassVar

import msgspec
from sqlalchemy import JSON, Column, Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import Field, SQLModel

from baton.events.webhooks.registered import RegisteredWebhook
from baton.kernel.base.sql import Database, UTCDateTime
from baton.kernel.base.storable import storable

KIND = "event_webhooks"
"""The kind of change that makes every server read the webhooks anew."""


class WebhookRow(SQLModel, table=True):
    """One webhook of an organisation."""

    __tablename__ = "event_webhooks"
    __table__: ClassVar[Table]

    id: str = Field(primary_key=True)
    organisation: str = Field(index=True)
    url: str
    topics: list[str] = Field(sa_column=Column(JSON, nullable=False))
    secret: str
    description: str
    created_at: datetime = Field(sa_type=UTCDateTime)
    created_by: str


_webhooks = WebhookRow.__table__


async def load(database: Database, organisation: str) -> list[RegisteredWebhook]:
    """Return all webhooks of an organisation, oldest first.

    Raises:
        DatabaseUnavailable: If the database is away.
    """
    query = select(_webhooks).where(_webhooks.c.organisation == organisation).order_by(_webhooks.c.id)
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [msgspec.convert(row._asdict(), RegisteredWebhook) for row in rows]


async def add(connection: AsyncConnection, organisation: str, webhook: RegisteredWebhook) -> None:
    """Store a webhook."""
    values = msgspec.structs.asdict(webhook) | {
        "topics": list(webhook.topics),
        "description": storable(webhook.description),
        "organisation": organisation,
    }
    await connection.execute(insert(_webhooks).values(**values))


async def remove(connection: AsyncConnection, organisation: str, webhook_id: str) -> bool:
    """Remove a webhook; return whether there was one."""
    query = delete(_webhooks).where(_webhooks.c.organisation == organisation, _webhooks.c.id == storable(webhook_id))
    return (await connection.execute(query)).rowcount > 0
