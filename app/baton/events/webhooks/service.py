"""Registers webhooks, and lets the process that sends them know of each."""

import asyncio
import base64
import logging
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from uuid_utils import uuid7

from baton.engine.call.principal import Principal
from baton.events.reading import topic_named
from baton.events.sinks.runner import SinkCounts, sink_counts
from baton.events.sinks.sinks import WEBHOOKS
from baton.events.sinks.webhook import SECRET_PREFIX, Webhook
from baton.events.webhooks import store
from baton.events.webhooks.registered import RegisteredWebhook
from baton.events.webhooks.store import KIND
from baton.kernel.base.errors import Conflict, Invalid, NotFound
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.http.guards.outbound_guard import OutboundRefused, destination
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.people.permissions import require

log = logging.getLogger(__name__)

MOST = 50
"""Webhooks of an organisation."""
MIRROR_S = 5.0
"""How often the webhooks are written to Redis again, which may have lost them, in seconds."""
SECRET_BYTES = 32

_encode = msgspec.msgpack.Encoder().encode


class Webhooks:
    """The webhooks in memory, from SQL; Redis has a copy for the process that sends."""

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
            self._webhooks = await store.load(self._database, self._organisation)
        self._mirror()

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the copy in Redis until told to stop."""
        while not stop.is_set():
            self._mirror()
            await pause(stop, MIRROR_S)

    async def find(self, principal: Principal) -> list[tuple[RegisteredWebhook, SinkCounts]]:
        """Return all webhooks, and what became of what they were sent.

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
        self, principal: Principal, *, url: str, topics: Sequence[str], description: str, reason: str
    ) -> RegisteredWebhook:
        """Register a webhook, with a new secret.

        Raises:
            Conflict: If there are too many.
            Forbidden: If the role may not.
            Invalid: If the URL leads inside, or a topic is unknown or restricted.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        require(principal, "events.webhooks")
        for number, name in enumerate(topics):
            if topic_named(name).restricted:
                raise Invalid(
                    f"topics.{number}", f"is `{name}`, which is restricted: no webhook gets prompts or contents"
                )
        try:
            await destination(url, self._internal_hosts)
        except OutboundRefused as error:
            raise Invalid("url", f"{error}; an operator allows internal hosts by BATON_WEBHOOK_HOSTS") from None
        if len(self._webhooks) >= MOST:
            raise Conflict(f"there are {MOST} webhooks already; remove one that is not needed")
        webhook = RegisteredWebhook(
            id=str(uuid7()),
            url=url,
            topics=tuple(dict.fromkeys(topics)),
            secret=SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode(),
            description=description,
            created_at=datetime.now(UTC),
            created_by=principal.user,
        )
        async with self._changes.write(KIND, principal, "webhook.create") as change:
            await store.add(change.connection, self._organisation, webhook)
            await change.audit(webhook.id, after={"url": url, "topics": list(webhook.topics)}, reason=reason)
        await self.load()
        return webhook

    async def remove(self, principal: Principal, webhook_id: str, reason: str = "") -> None:
        """Remove a webhook.

        Raises:
            Forbidden: If the role may not.
            NotFound: If there is none of that id.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        require(principal, "events.webhooks")
        known = next((one for one in self._webhooks if one.id == webhook_id), None)
        async with self._changes.write(KIND, principal, "webhook.delete") as change:
            if not await store.remove(change.connection, self._organisation, webhook_id):
                raise NotFound(f"there is no webhook `{webhook_id}`")
            before = {} if known is None else {"url": known.url, "topics": list(known.topics)}
            await change.audit(webhook_id, before=before, reason=reason)
        await self.load()

    def _mirror(self) -> None:
        copy = [Webhook(id=one.id, url=one.url, topics=one.topics, secret=one.secret) for one in self._webhooks]
        self._redis.send(b"SET", WEBHOOKS, _encode(copy))
