"""How long the organisation keeps decisions, wrong blocks, audit entries and jobs, and the removal of older rows.

Feedback on a route is kept as long as the decision that holds the route.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from baton.context.utilization.store import purge as purge_context_days
from baton.delegate.core.retention import purge_jobs
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import LARGEST_BATCH, Database, DatabaseUnavailable
from baton.kernel.changes import leadership, organisation_settings
from baton.kernel.changes.announce import Changes
from baton.kernel.http.etags import check_if_match
from baton.operate.retention import store
from baton.people.permissions import require
from baton.records.analytics.hook_failures_store import purge as purge_hook_failures
from baton.spawn.graphs.store import purge_graphs

log = logging.getLogger(__name__)

KEY = "retention"
PERIOD = timedelta(hours=1)
"""How often old rows are removed, by one process for all servers."""
LOOK_S = 60.0
"""How often each process checks whether it is time, in seconds."""
PAUSE_S = 0.1
"""Pause between two batches, in seconds, so that decisions can be stored in between."""
LEAST_AUDIT_DAYS = 365
LONGEST_DAYS = 36_500
_AWAY = "retention cannot be read now; try again"

_Days = Annotated[int, msgspec.Meta(ge=1, le=LONGEST_DAYS)]


class RetentionDays(msgspec.Struct, frozen=True, kw_only=True):
    """How long rows are kept, in days; audit entries at least a year, so that nobody can hide a change this way."""

    decisions_days: _Days = 365
    reports_days: _Days = 365
    jobs_days: _Days = 30
    audit_days: Annotated[int, msgspec.Meta(ge=LEAST_AUDIT_DAYS, le=LONGEST_DAYS)] = 3 * 365


class Retention:
    """Reads and changes the organisation's retention, and removes rows that are older."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        organisation: str,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._changes = changes
        self._organisation = organisation
        self._now = now

    async def get(self, principal: Principal) -> tuple[RetentionDays, int]:
        """Return how long rows are kept, and the version of that setting (0 for the defaults).

        Raises:
            Forbidden: If the role may not do this.
            StoreUnavailable: If the database cannot be reached.
        """
        require(principal, "retention.read")
        try:
            return await self._read()
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def put(
        self, principal: Principal, days: RetentionDays, *, version: str | None, reason: str
    ) -> tuple[RetentionDays, int]:
        """Set how long rows are kept.

        Raises:
            Forbidden: If the role may not do this.
            PreconditionFailed: If it was changed since `version`.
            StoreUnavailable: If the database cannot be reached; nothing was changed.
        """
        require(principal, "retention.write")
        async with self._changes.write(KEY, principal, "retention.set") as change:
            value, current = await organisation_settings.get_with(change.connection, self._organisation, KEY)
            check_if_match(version, current)
            before = msgspec.structs.asdict(msgspec.convert(value, RetentionDays))
            after = msgspec.structs.asdict(days)
            await organisation_settings.put(change.connection, self._organisation, KEY, after, current + 1)
            await change.audit(KEY, before=before, after=after, reason=reason)
        return days, current + 1

    async def run(self, stop: asyncio.Event) -> None:
        """Purge once an hour, in the process that gets the lease first, until `stop` is set."""
        while not stop.is_set():
            with contextlib.suppress(DatabaseUnavailable):
                if await leadership.take(self._database, self._organisation, KEY, self._now(), PERIOD):
                    await self.purge(stop)
            await pause(stop, LOOK_S)

    async def purge(self, stop: asyncio.Event) -> dict[str, int]:
        """Remove old rows in batches, and return the number of rows by kind.

        Raises:
            DatabaseUnavailable: If the database cannot be reached.
        """
        kept, _ = await self._read()
        now = self._now()
        purged: dict[str, int] = {}
        for kind, days, remove in (
            ("decisions", kept.decisions_days, store.purge_decisions),
            ("feedback", kept.decisions_days, store.purge_route_feedback),
            ("reports", kept.reports_days, store.purge_reports),
            ("audit", kept.audit_days, store.purge_audit),
            ("overrides", 0, store.purge_overrides),
            ("unlocks", 0, store.purge_unlocks),
            ("modes", 0, store.purge_modes),
            ("context", kept.decisions_days, purge_context_days),
            ("hook failures", kept.decisions_days, purge_hook_failures),
            ("clients", kept.decisions_days, store.purge_clients),
            ("installed_hooks", kept.decisions_days, store.purge_installed_hooks),
            ("jobs", kept.jobs_days, purge_jobs),
            ("graphs", kept.jobs_days, purge_graphs),
        ):
            purged[kind] = await self._all_batches(remove, now - timedelta(days=days), stop)
        if any(purged.values()):
            log.info("removed rows older than the retention: %s", purged)
        return purged

    async def _all_batches(
        self, remove: Callable[[Database, str, datetime], Awaitable[int]], before: datetime, stop: asyncio.Event
    ) -> int:
        total = 0
        while not stop.is_set() and (gone := await remove(self._database, self._organisation, before)):
            total += gone
            if gone < LARGEST_BATCH:
                break
            await pause(stop, PAUSE_S)
        return total

    async def _read(self) -> tuple[RetentionDays, int]:
        value, version = await organisation_settings.get(self._database, self._organisation, KEY)
        return msgspec.convert(value, RetentionDays), version
