"""Registers webhooks, and notifies the sending process of each."""

import base64
import logging
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from sqlalchemy import Index, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.events.reading import topic_named
from baton.events.sinks.runner import SinkCounts, sink_counts
from baton.events.sinks.sinks import WEBHOOKS
from baton.events.sinks.webhook import SECRET_PREFIX, Format, Webhook
from baton.kernel.base.errors import Conflict, Invalid, NotFound
from baton.kernel.base.sql import Database, row_of, table_of
from baton.kernel.changes.announce import Changes
from baton.kernel.http.guards.outbound_guard import OutboundRefused, destination
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.people.users import require
from baton.rules.call.call import Principal
from baton.shared.storable import storable

# The table of registered webhooks, and its queries.


class RegisteredWebhook(Webhook, frozen=True, kw_only=True):
    """A webhook as it is stored; `secret` is shown once, when it is made. `console` is the server's address."""

    description: str
    created_at: datetime
    created_by: str


KIND = "event_webhooks"
"""The kind of change that makes every server read the webhooks anew."""


WEBHOOKS_TABLE = table_of("event_webhooks", RegisteredWebhook, Index("ix_event_webhooks_organisation", "organisation"))


async def load(database: Database, organisation: str) -> list[RegisteredWebhook]:
    """Return all webhooks of an organisation, oldest first.

    Raises:
        DatabaseUnavailable: If the database is unavailable.
    """
    query = select(WEBHOOKS_TABLE).where(WEBHOOKS_TABLE.c.organisation == organisation).order_by(WEBHOOKS_TABLE.c.id)
    return await database.read(query, RegisteredWebhook)


async def add(connection: AsyncConnection, organisation: str, webhook: RegisteredWebhook) -> None:
    """Store a webhook."""
    await connection.execute(insert(WEBHOOKS_TABLE).values(row_of(webhook) | {"organisation": organisation}))


async def remove(connection: AsyncConnection, organisation: str, webhook_id: str) -> bool:
    """Remove a webhook; return whether there was one."""
    query = delete(WEBHOOKS_TABLE).where(
        WEBHOOKS_TABLE.c.organisation == organisation, WEBHOOKS_TABLE.c.id == storable(webhook_id)
    )
    return (await connection.execute(query)).rowcount > 0


log = logging.getLogger(__name__)

MOST = 50
"""Webhooks of an organisation."""
SECRET_BYTES = 32

_encode = msgspec.msgpack.Encoder().encode


class Webhooks:
    """The webhooks in memory, from SQL; Redis has a copy for the sending process."""

    def __init__(
        self, database: Database, changes: Changes, redis: Redis, *, organisation: str, internal_hosts: Sequence[str]
    ) -> None:
        self._database = database
        self._changes = changes
        self._redis = redis
        self._organisation = organisation
        self._internal_hosts = tuple(internal_hosts)
        self._webhooks: list[RegisteredWebhook] = []
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Read the webhooks. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            self._webhooks = await load(self._database, self._organisation)
        self.mirror()

    async def find(self, principal: Principal) -> list[tuple[RegisteredWebhook, SinkCounts]]:
        """Return all webhooks, and the results of their deliveries.

        Raises:
            Forbidden: If the role may not.
        """
        require(principal, "events.webhooks")
        webhooks = self._webhooks
        try:
            counts = await sink_counts(self._redis, [f"webhook:{one.id}" for one in webhooks])
        except RedisUnavailable:
            counts = {}
        return [(one, counts.get(f"webhook:{one.id}", SinkCounts())) for one in webhooks]

    async def add(
        self,
        principal: Principal,
        *,
        url: str,
        topics: Sequence[str],
        description: str,
        reason: str,
        format: Format = "cloudevents",  # noqa: A002 - the column's name
        console: str = "",
    ) -> RegisteredWebhook:
        """Register a webhook, with a new secret.

        Raises:
            Conflict: If there are too many.
            Forbidden: If the role may not.
            Invalid: If the URL leads inside, or a topic is unknown or restricted.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        require(principal, "events.webhooks")
        for number, name in enumerate(topics):
            field = f"topics.{number}"
            if topic_named(name, field).restricted:
                raise Invalid(field, f"is `{name}`, a restricted topic: webhooks get no prompts or contents")
        try:
            await destination(url, self._internal_hosts)
        except OutboundRefused as error:
            raise Invalid("url", str(error)) from None
        if len(self._webhooks) >= MOST:
            raise Conflict(f"there are {MOST} webhooks already; remove an unused one")
        webhook = RegisteredWebhook(
            id=str(uuid7()),
            url=url,
            topics=tuple(dict.fromkeys(topics)),
            secret=SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode(),
            description=description,
            created_at=datetime.now(UTC),
            created_by=principal.user,
            format=format,
            console=console,
        )
        async with self._changes.write(KIND, principal, "webhook.create") as change:
            await add(change.connection, self._organisation, webhook)
            await change.audit(webhook.id, after={"url": url, "topics": list(webhook.topics)}, reason=reason)
        await self.load()
        return webhook

    async def remove(self, principal: Principal, webhook_id: str, reason: str = "") -> None:
        """Remove a webhook.

        Raises:
            Forbidden: If the role may not.
            NotFound: If the id is unknown.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        require(principal, "events.webhooks")
        known = next((one for one in self._webhooks if one.id == webhook_id), None)
        async with self._changes.write(KIND, principal, "webhook.delete") as change:
            if not await remove(change.connection, self._organisation, webhook_id):
                raise NotFound(f"there is no webhook `{webhook_id}`")
            before = {} if known is None else {"url": known.url, "topics": list(known.topics)}
            await change.audit(webhook_id, before=before, reason=reason)
        await self.load()

    def has(self, topic: str) -> bool:
        """Return whether a webhook gets a topic's events."""
        return any(topic in one.topics for one in self._webhooks)

    def mirror(self) -> None:
        """Copy the webhooks to Redis, for the drain."""
        copy = [msgspec.convert(one, Webhook, from_attributes=True) for one in self._webhooks]
        self._redis.send(b"SET", WEBHOOKS, _encode(copy))
