"""The state of the server and its dependencies. A dependency that is down degrades the server; the check still passes."""

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Literal

import msgspec

from baton.kernel.base.sql import Database
from baton.kernel.http.lifecycle import Lifecycle, Phase
from baton.kernel.redis.client import Redis


class HealthState(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check."""

    phase: Phase
    redis: Literal["up", "down"]
    database: Literal["up", "down"]

    @property
    def degraded(self) -> bool:
        """Whether the server takes calls, but decides them without Redis or the database."""
        return self.phase == "ready" and "down" in {self.redis, self.database}


class DependencySince(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a dependency is up, and since when as far as this process noticed."""

    name: Literal["redis", "database"]
    state: Literal["up", "down"]
    since: datetime


class Health:
    """Checks the dependencies on request, and remembers when each last changed."""

    def __init__(self, redis: Redis, database: Database, lifecycle: Lifecycle) -> None:
        self._redis = redis
        self._database = database
        self._lifecycle = lifecycle
        self.version = version("baton")
        self.started_at = datetime.now(UTC)
        self._since: dict[str, DependencySince] = {}

    @property
    def phase(self) -> Phase:
        """Whether this process starts, answers or leaves."""
        return self._lifecycle.phase

    async def check(self) -> HealthState:
        """Check the dependencies; this takes at most the database's own short timeout."""
        database = await self._database.ping()
        self._note("database", up=database)
        self._note("redis", up=self._redis.up)
        return HealthState(
            phase=self._lifecycle.phase, redis="up" if self._redis.up else "down", database="up" if database else "down"
        )

    def dependencies(self) -> list[DependencySince]:
        """Return the dependencies as of the last check."""
        return list(self._since.values())

    def _note(self, name: Literal["redis", "database"], *, up: bool) -> None:
        state: Literal["up", "down"] = "up" if up else "down"
        known = self._since.get(name)
        if known is None or known.state != state:
            since = self.started_at if known is None else datetime.now(UTC)
            self._since[name] = DependencySince(name=name, state=state, since=since)
