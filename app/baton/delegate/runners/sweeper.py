"""Ends what nobody else ends: leases, times, cancels, permissions that ran out. One server of all does it at a time."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta

from baton.delegate.core import permissions_store
from baton.delegate.core import store as jobs
from baton.delegate.core.protocol import HELD, state_after
from baton.delegate.core.states import JobMachine
from baton.delegate.core.store import Job
from baton.delegate.core.transaction import Work
from baton.delegate.runners.permissions import JobPermissions
from baton.delegate.runners.service import LEASE
from baton.kernel.base import clock
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import leases

log = logging.getLogger(__name__)

PERIOD = timedelta(seconds=2)
OUTAGE = timedelta(seconds=10)
"""When nobody has swept for so long, no server was up, the database was away, or there was nothing: no runner was heard."""
WORK = "jobs"
CANCEL = timedelta(seconds=30)
"""How long a runner has to end a cancelled job, before the server does."""


class JobSweeper:
    """Looks through the jobs that runners have."""

    def __init__(self, database: Database, machine: JobMachine, permissions: JobPermissions, organisation: str) -> None:
        self._database = database
        self._machine = machine
        self._permissions = permissions
        self._organisation = organisation

    async def run(self, stop: asyncio.Event) -> None:
        """Sweep every two seconds, whichever process gets to it, until told to stop."""
        while not stop.is_set():
            wait = PERIOD
            with contextlib.suppress(DatabaseUnavailable):
                wait = await self.take_turn(datetime.now(UTC))
            await pause(stop, wait.total_seconds())

    async def take_turn(self, now: datetime) -> timedelta:
        """Sweep if it is time, and tell when the next turn is; runners that no server could hear get their leases first."""
        async with self._database.transaction() as connection:
            if not await jobs.some_open(connection, self._organisation):
                return PERIOD
            last = await leases.until(connection, self._organisation, WORK)
        if last is not None and last > now:
            return min(last - now, PERIOD)
        if not await leases.take(self._database, self._organisation, WORK, now, PERIOD):
            return PERIOD
        if last is not None and now - last > OUTAGE:
            async with clock.writing(self._database) as connection:
                await jobs.renew_all(connection, self._organisation, await clock.now(connection) + LEASE)
        await self.sweep()
        return PERIOD

    async def sweep(self) -> None:
        """Look through all jobs once. Raises DatabaseUnavailable."""
        async with self._database.transaction() as connection:
            now = await clock.now(connection)
            due = await jobs.due(connection, self._organisation, now, now - CANCEL)
            overdue = await permissions_store.overdue(connection, self._organisation, now)
            blocked = await jobs.blocked(connection, self._organisation)
            waited_for = {name for names in blocked.values() for name in names}
            states = await jobs.states(connection, self._organisation, waited_for) if waited_for else {}
        for job_id, permission_id in overdue:
            await _alone(job_id, self._permissions.expire(job_id, permission_id))
        for job_id in due:
            await _alone(job_id, self._look_at(job_id))
        for job_id, names in blocked.items():
            if state_after(names, states)[0] != "blocked":
                await _alone(job_id, self._machine.advance(job_id))

    async def _look_at(self, job_id: str) -> None:
        async with self._machine.work() as work:
            job = await self._machine.lock(work, job_id)
            if job is not None and job.state in HELD:
                await self._end(work, job)

    async def _end(self, work: Work, job: Job) -> None:
        if job.lease_until is not None and job.lease_until < work.now:
            await self._machine.lose(work, job, f"the runner `{job.runner_id}` was not heard of for a minute")
        elif job.cancel_at is not None and job.cancel_at < work.now - CANCEL:
            why = f"the runner `{job.runner_id}` did not say within {CANCEL.seconds} s that it has ended the agent"
            await self._machine.stop(work, job, "cancelled", "cancel_unconfirmed", why)
        elif job.deadline is not None and job.deadline < work.now:
            await self._machine.command(work, job, "cancel", {})
            why = f"the agent was not done within {job.timeout_s} s"
            await self._machine.stop(work, job, "failed", "timeout", why)


async def _alone(job_id: str, work: Awaitable[None]) -> None:
    """Await what is done to one job: what is wrong with it must not keep the others waiting. Raises DatabaseUnavailable."""
    try:
        await work
    except DatabaseUnavailable:
        raise
    except Exception:
        log.exception("job %s could not be looked after", job_id)
