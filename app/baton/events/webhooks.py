"""Registers webhooks, and notifies the sending process of each."""

import base64
import logging
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
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
from baton.kernel.http.features import of
from baton.kernel.http.fields import request_body
from baton.kernel.http.outbound_guard import OutboundRefused, destination
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
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


# `/events/webhooks`: receivers of signed events, registered by admins.

router = APIRouter(tags=["events"], prefix="/events/webhooks")
WebhooksOf = Annotated[Webhooks, Depends(of(Webhooks))]


class WebhookBody(BaseModel):
    """A webhook to register."""

    model_config = request_body(
        {"url": "https://8.8.8.8/baton", "topics": ["decisions", "jobs"], "reason": "the on-call board"}, longest=1_000
    )

    url: str = Field(min_length=1, description="Destination of the events; it must be a public address.")
    topics: list[str] = Field(min_length=1, max_length=100, description="Short names of open topics.")
    description: str = ""
    format: Format = Field(
        "cloudevents", description="`slack`: a `text` that Slack accepts, of a request with a link to the console."
    )
    reason: str = ""


class WebhookModel(BaseModel):
    """A registered webhook, and the results of its deliveries."""

    id: str
    url: str
    topics: list[str]
    description: str
    format: Format
    created_at: datetime
    created_by: str
    sent: int = 0
    failures: int = 0
    given_up: int = 0
    """Events that it did not take after twelve attempts."""
    gaps: int = 0
    """How often events were removed before they could be sent."""
    error: str = ""
    error_at: datetime | None = None

    @classmethod
    def build(cls, webhook: RegisteredWebhook, counts: SinkCounts) -> "WebhookModel":
        """Return a webhook as the API shows it: without its secret."""
        return cls(
            id=webhook.id,
            url=webhook.url,
            topics=list(webhook.topics),
            description=webhook.description,
            format=webhook.format,
            created_at=webhook.created_at,
            created_by=webhook.created_by,
            sent=counts.sent,
            failures=counts.failures,
            given_up=counts.given_up,
            gaps=counts.gaps,
            error=counts.error,
            error_at=datetime.fromtimestamp(counts.error_at, UTC) if counts.error_at else None,
        )


class NewWebhookModel(WebhookModel):
    """A newly registered webhook with its signing secret, shown only this once."""

    secret: str


class WebhooksModel(BaseModel):
    """All webhooks, oldest first."""

    items: list[WebhookModel]


@router.get("", operation_id="list_event_webhooks", response_model_exclude_none=True)
async def list_webhooks(caller: CallerOf, webhooks: WebhooksOf) -> WebhooksModel:
    """List the webhooks, with their delivery counts."""
    return WebhooksModel(items=[WebhookModel.build(*one) for one in await webhooks.find(caller.principal)])


@router.post(
    "", operation_id="create_event_webhook", status_code=201, response_model_exclude_none=True, dependencies=[ADMIN]
)
async def create_webhook(
    request: Request, caller: CallerOf, webhooks: WebhooksOf, body: WebhookBody
) -> NewWebhookModel:
    """Register a webhook. It receives events published from now on, signed in the form of Standard Webhooks.

    Links of messages begin with the address to which this request is sent.
    """
    console = str(request.base_url).rstrip("/")
    made = await webhooks.add(caller.principal, **body.model_dump(), console=console)
    return NewWebhookModel(**WebhookModel.build(made, SinkCounts()).model_dump(), secret=made.secret)


@router.delete("/{webhook_id}", operation_id="delete_event_webhook", status_code=204, dependencies=[ADMIN])
async def delete_webhook(
    caller: CallerOf, webhooks: WebhooksOf, webhook_id: str, reason: Annotated[str, Query(max_length=1_000)] = ""
) -> None:
    """Remove a webhook; nothing more is sent to it."""
    await webhooks.remove(caller.principal, webhook_id, reason)
