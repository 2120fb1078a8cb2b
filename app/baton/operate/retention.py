"""`/retention`: shows and sets the organisation's retention of rows."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Table, delete, select, tuple_, update

from baton.delegate.core.retention import purge_jobs
from baton.kernel.base.driver import Dialect
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import LARGEST_BATCH, Database, StoreErrors
from baton.kernel.changes import write
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.audit_store import AUDIT
from baton.kernel.http.features import of
from baton.kernel.http.fields import Shown, request_body
from baton.kernel.http.paging import IfMatch, check_if_match, etag
from baton.machines.installed_hooks import HOOKS_INSTALLED
from baton.machines.session_projects import CLIENTS_SEEN
from baton.modes.freezes import FREEZES
from baton.modes.store import MODES
from baton.people.approvals import APPROVALS
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.people.users import require
from baton.policies.store import UNLOCKS
from baton.records.columns.hours import DAY_HOURS, marks_of_stale
from baton.records.columns.tables import COLUMNS
from baton.records.columns.writer import forget_days
from baton.records.hook_failures import purge as purge_hook_failures
from baton.records.review.wrong_blocks import WRONG_BLOCKS
from baton.records.tables import DECISIONS, TOTALS
from baton.route.feedback.store import ROUTE_FEEDBACK
from baton.rules.call.call import Principal
from baton.sessions.exceptions.service import EXCEPTIONS
from baton.shared.record_ids import least_id
from baton.shared.storable import storable
from baton.spawn.graphs.store import purge_graphs

# Retention of decisions, wrong blocks, audit entries and jobs, and the removal of older rows. Feedback on a route is
# kept as long as the route's decision.

# Queries that remove old rows, or a user's decisions, one batch at a time.

_COUNTED_BY = ("organisation", "user", "team", "effect")


async def purge_decisions(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of decisions older than a timestamp; return their number."""
    return await _remove_decisions(database, organisation, DECISIONS.c.id < least_id(before))


async def remove_decisions_of(database: Database, organisation: str, user: str) -> int:
    """Remove at most one batch of a user's decisions; return their number."""
    return await _remove_decisions(database, organisation, DECISIONS.c.user == storable(user))


async def _remove_decisions(database: Database, organisation: str, wanted: ColumnElement[bool]) -> int:
    ours = DECISIONS.c.organisation == organisation
    found = select(DECISIONS.c.id).where(ours, wanted).order_by(DECISIONS.c.id).limit(LARGEST_BATCH)
    gone = delete(DECISIONS).where(ours, DECISIONS.c.id.in_(found))
    # The deleted rows, not the found ones: another process may delete the same rows, which count only once.
    counted_by = [DECISIONS.c[name] for name in ("id", "event", "repeats", *_COUNTED_BY)]
    async with database.transaction() as connection:
        rows = (await connection.execute(gone.returning(*counted_by))).all()
        counted: Counter[tuple[str, ...]] = Counter()
        for row in rows:
            if row.event == "PreToolUse":
                counted[tuple(getattr(row, name) for name in _COUNTED_BY)] += row.repeats + 1
        for key, count in sorted(counted.items()):
            these = [TOTALS.c[name] == value for name, value in zip(_COUNTED_BY, key, strict=True)]
            await connection.execute(update(TOTALS).where(*these).values(decisions=TOTALS.c.decisions - count))
        dialect: Dialect = "sqlite" if database.dialect == "sqlite" else "postgresql"
        for mark, hours in marks_of_stale(dialect, ((row.organisation, row.id) for row in rows), time.time()):
            await connection.exec_driver_sql(mark, list(hours))
            # Not only when the hours are rewritten: a deletion must remove all of a person's data.
            of_hours = tuple_(COLUMNS.c.organisation, COLUMNS.c.hour).in_([(whose, hour) for whose, hour in hours])
            await connection.execute(delete(COLUMNS).where(of_hours))
            await forget_days(connection, ((whose, hour // DAY_HOURS) for whose, hour in hours))
    return len(rows)


def _by_age(table: Table, column: str) -> Callable[[Database, str, datetime], Awaitable[int]]:
    """Return a function that removes at most one batch of old rows and returns their number."""

    async def purge(database: Database, organisation: str, before: datetime) -> int:
        key = tuple(table.primary_key)
        own = table.c.organisation == organisation
        oldest = select(*key).where(own, table.c[column] < before).order_by(table.c[column])
        async with database.transaction() as connection:
            found = [tuple(row) for row in await connection.execute(oldest.limit(LARGEST_BATCH))]
            if found:
                await connection.execute(delete(table).where(tuple_(*key).in_(found)))
        return len(found)

    return purge


purge_route_feedback = _by_age(ROUTE_FEEDBACK, "at")
purge_reports = _by_age(WRONG_BLOCKS, "at")
purge_audit = _by_age(AUDIT, "at")
purge_clients = _by_age(CLIENTS_SEEN, "last_seen")
purge_installed_hooks = _by_age(HOOKS_INSTALLED, "installed_at")
purge_exceptions = _by_age(EXCEPTIONS, "expires_at")
purge_unlocks = _by_age(UNLOCKS, "until")
purge_modes = _by_age(MODES, "expires_at")
purge_approvals = _by_age(APPROVALS, "expires_at")
purge_freezes = _by_age(FREEZES, "expires_at")


log = logging.getLogger(__name__)

KEY = "retention"
PAUSE_S = 0.1
"""Pause between two batches, in seconds, for decisions to be stored in between."""
LEAST_AUDIT_DAYS = 365
LONGEST_DAYS = 36_500
_AWAY = "retention cannot be read now; try again"

_Days = Annotated[int, msgspec.Meta(ge=1, le=LONGEST_DAYS)]


class RetentionDays(msgspec.Struct, frozen=True, kw_only=True):
    """Retention of rows, in days; audit entries at least a year, so no one can hide a change this way."""

    decisions_days: _Days = 365
    reports_days: _Days = 365
    jobs_days: _Days = 30
    audit_days: Annotated[int, msgspec.Meta(ge=LEAST_AUDIT_DAYS, le=LONGEST_DAYS)] = 3 * 365


class Retention:
    """Reads and changes the organisation's retention, and removes older rows."""

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
        """Return the retention, and the version of that setting (0 for the defaults).

        Raises:
            Forbidden: If the role may not do this.
            StoreUnavailable: If the database is unavailable.
        """
        require(principal, "retention.read")
        with StoreErrors(_AWAY):
            return await self._read()

    async def put(
        self, principal: Principal, days: RetentionDays, *, version: str | None, reason: str
    ) -> tuple[RetentionDays, int]:
        """Set the retention.

        Raises:
            Forbidden: If the role may not do this.
            PreconditionFailed: If it was changed since `version`.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        require(principal, "retention.write")
        async with self._changes.write(KEY, principal, "retention.set") as change:
            value, current = await write.get_with(change.connection, self._organisation, KEY)
            check_if_match(version, current)
            before = msgspec.structs.asdict(msgspec.convert(value, RetentionDays))
            after = msgspec.structs.asdict(days)
            await write.put(change.connection, self._organisation, KEY, after, current + 1)
            await change.audit(KEY, before=before, after=after, reason=reason)
        return days, current + 1

    async def purge(self, stop: asyncio.Event) -> dict[str, int]:
        """Remove old rows in batches, and return the number of rows by kind. Raise DatabaseUnavailable."""
        kept, _ = await self._read()
        now = self._now()
        purged: dict[str, int] = {}
        for kind, days, remove in (
            ("decisions", kept.decisions_days, purge_decisions),
            ("feedback", kept.decisions_days, purge_route_feedback),
            ("reports", kept.reports_days, purge_reports),
            ("audit", kept.audit_days, purge_audit),
            ("exceptions", 30, purge_exceptions),
            ("unlocks", 0, purge_unlocks),
            ("modes", 0, purge_modes),
            ("approvals", 1, purge_approvals),
            ("freezes", 0, purge_freezes),
            ("hook failures", kept.decisions_days, purge_hook_failures),
            ("clients", kept.decisions_days, purge_clients),
            ("installed_hooks", kept.decisions_days, purge_installed_hooks),
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
        value, version = await write.get(self._database, self._organisation, KEY)
        return msgspec.convert(value, RetentionDays), version


router = APIRouter(tags=["retention"])
RetentionOf = Annotated[Retention, Depends(of(Retention))]


class RetentionBody(BaseModel):
    """Retention of rows, in days, and the reason; audit entries are kept for at least a year."""

    model_config = request_body(
        {"decisions_days": 90, "reports_days": 365, "jobs_days": 30, "audit_days": 730,
        "reason": "agreed with the works council"}
    )  # fmt: skip

    decisions_days: int = Field(ge=1, le=LONGEST_DAYS)
    reports_days: int = Field(ge=1, le=LONGEST_DAYS)
    jobs_days: int = Field(30, ge=1, le=LONGEST_DAYS)
    audit_days: int = Field(ge=LEAST_AUDIT_DAYS, le=LONGEST_DAYS)
    reason: str = Field("", max_length=1_000)


@router.get("/retention")
async def get_retention(caller: CallerOf, retention: RetentionOf, response: Response) -> Shown[RetentionDays]:
    """Show the retention of decisions, reports, jobs and audit entries."""
    days, version = await retention.get(caller.principal)
    response.headers["ETag"] = etag(version)
    return days


@router.put("/retention", dependencies=[ADMIN])
async def put_retention(
    caller: CallerOf, retention: RetentionOf, body: RetentionBody, response: Response, if_match: IfMatch = None
) -> Shown[RetentionDays]:
    """Set the retention; older rows are removed within the hour. `If-Match` must name the current version."""
    days = RetentionDays(**body.model_dump(exclude={"reason"}))
    stored, version = await retention.put(caller.principal, days, version=if_match, reason=body.reason)
    response.headers["ETag"] = etag(version)
    return stored
