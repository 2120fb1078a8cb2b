"""The handlers by URL that admins have registered: stored, audited, and known to every server."""

import re

import httpx2
import msgspec

from baton.context.enrichment.remote import HandlerConfig, RemoteHandler
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid, NotFound
from baton.kernel.base.sql import Database
from baton.kernel.changes import organisation_settings
from baton.kernel.changes.announce import Changes
from baton.kernel.http.guards.outbound_guard import OutboundRefused, destination
from baton.kernel.http.guards.outbound_tls import outbound_tls
from baton.people.permissions import require

KIND = "enrichment-handlers"
MOST = 8
"""Handlers of one organisation: all of them are asked for every prompt."""
MOST_CONNECTIONS = 64
_NAME = re.compile(r"[a-z][a-z0-9_-]{1,39}")


class HandlerRegistry:
    """The handlers in force, in memory; a change is in force on every server at once."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        organisation: str,
        *,
        reserved: frozenset[str],
        allowed: tuple[str, ...],
    ) -> None:
        self._reserved = reserved
        """The names of built-in sources."""
        self._database = database
        self._changes = changes
        self._organisation = organisation
        self._allowed = allowed
        self._client = httpx2.AsyncClient(
            verify=outbound_tls(),
            trust_env=False,
            follow_redirects=False,
            timeout=None,  # the budget of every handler ends a call
            limits=httpx2.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=30),
            headers={"user-agent": "baton"},
        )
        self._handlers: dict[str, RemoteHandler] = {}
        self._configs: dict[str, HandlerConfig] = {}
        changes.on(KIND, self.load)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def load(self) -> None:
        """Read the handlers from SQL; one that has not changed goes on as it is. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            value, _ = await organisation_settings.get(self._database, self._organisation, KIND)
            configs = msgspec.convert(value, dict[str, HandlerConfig])
            self._handlers = {
                name: self._handlers[name]
                if self._configs.get(name) == config
                else RemoteHandler(config, self._client, self._allowed)
                for name, config in configs.items()
            }
            self._configs = configs

    @property
    def handlers(self) -> list[RemoteHandler]:
        """The handlers, by name."""
        return [self._handlers[name] for name in sorted(self._handlers)]

    @property
    def names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(self._configs)

    def find(self, principal: Principal) -> list[HandlerConfig]:
        """List the handlers. Raise Forbidden."""
        require(principal, "context.handlers.read")
        return [self._configs[name] for name in sorted(self._configs)]

    async def put(self, principal: Principal, config: HandlerConfig, reason: str) -> None:
        """Register a handler, or change one.

        Raises:
            Forbidden: If the role may not.
            Invalid: If its name is no name or a built-in one's, its URL leads inside, or there are too many.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        require(principal, "context.handlers.write")
        if not _NAME.fullmatch(config.name) or config.name in self._reserved:
            raise Invalid(
                "name", f"is `{config.name}`; allowed are 2 to 40 of a-z, 0-9, `_` and `-`, and no built-in source"
            )
        try:
            await destination(config.url, self._allowed)
        except OutboundRefused as error:
            raise Invalid("url", str(error)) from None
        async with self._changes.write(KIND, principal, "context-handler.put") as change:
            value, version = await organisation_settings.get_with(change.connection, self._organisation, KIND)
            before = msgspec.convert(value, dict[str, HandlerConfig])
            after = before | {config.name: config}
            if len(after) > MOST:
                raise Invalid("name", f"is one too many: at most {MOST} handlers are asked for every prompt")
            stored = msgspec.to_builtins(after)
            await organisation_settings.put(change.connection, self._organisation, KIND, stored, version + 1)
            await change.audit(
                config.name,
                before={"url": before[config.name].url} if config.name in before else {},
                after={"url": config.url},
                reason=reason,
            )

    async def remove(self, principal: Principal, name: str, reason: str) -> None:
        """Remove a handler.

        Raises:
            Forbidden: If the role may not.
            NotFound: If there is none of that name.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        require(principal, "context.handlers.write")
        async with self._changes.write(KIND, principal, "context-handler.remove") as change:
            value, version = await organisation_settings.get_with(change.connection, self._organisation, KIND)
            configs = msgspec.convert(value, dict[str, HandlerConfig])
            if name not in configs:
                raise NotFound(f"there is no handler `{name}`; `baton context handlers list` shows them")
            gone = configs.pop(name)
            await organisation_settings.put(
                change.connection, self._organisation, KIND, msgspec.to_builtins(configs), version + 1
            )
            await change.audit(name, before={"url": gone.url}, reason=reason)
