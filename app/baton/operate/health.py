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


class Health:
    """Checks the dependencies on request."""

    def __init__(self, redis: Redis, database: Database, lifecycle: Lifecycle) -> None:
        self._redis = redis
        self._database = database
        self._lifecycle = lifecycle
        self.version = version("baton")
        self.started_at = datetime.now(UTC)

    async def check(self) -> HealthState:
        """Check the dependencies; this takes at most the database's own short timeout."""
        database = await self._database.ping()
        return HealthState(
            phase=self._lifecycle.phase, redis="up" if self._redis.up else "down", database="up" if database else "down"
        )
