"""Ends what nobody else ends: leases, times, cancels, permissions that ran out. One server of all does it at a time."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from app.engine.delegation import HELD
from app.services.job_machine import JobMachine
from app.services.job_permissions import JobPermissions
from app.services.job_work import Work
from app.services.pause import pause
from app.services.runners import LEASE
from app.store import clock, job_permissions, jobs, leases
from app.store.jobs import Job
from app.store.sql import Database, DatabaseUnavailable

log = logging.getLogger(__name__)

PERIOD = timedelta(seconds=2)
LOOK_S = 1.0
"""How often a process looks whether it is its turn, in seconds."""
OUTAGE = timedelta(seconds=10)
"""When nobody has swept for so long, no server was up, or the database was away: no runner was heard."""
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
            try:
                await self.take_turn(datetime.now(UTC))
            except DatabaseUnavailable:
                pass
            except Exception:
                log.exception("jobs could not be looked through")
            await pause(stop, LOOK_S)

    async def take_turn(self, now: datetime) -> None:
        """Sweep if it is time; runners that no server could hear get their leases back first."""
        last = await leases.until(self._database, self._organisation, WORK)
        if last is not None and last > now:
            return
        if not await leases.take(self._database, self._organisation, WORK, now, PERIOD):
            return
        if last is not None and now - last > OUTAGE:
            async with clock.writing(self._database) as connection:
                await jobs.renew_all(connection, self._organisation, await clock.now(connection) + LEASE)
        await self.sweep()

    async def sweep(self) -> None:
        """Look through all jobs once. Raises DatabaseUnavailable."""
        async with self._database.transaction() as connection:
            now = await clock.now(connection)
            due = await jobs.due(connection, self._organisation, now, now - CANCEL)
            blocked = await jobs.blocked(connection, self._organisation)
            overdue = await job_permissions.overdue(connection, self._organisation, now)
            waited_for = {job_id for _, names in blocked for job_id in names}
            going_on = await jobs.going_on(connection, self._organisation, waited_for)
        for job_id, permission_id in overdue:
            await self._permissions.expire(job_id, permission_id)
        for job_id in due:
            async with self._machine.work() as work:
                job = await self._machine.lock(work, job_id)
                if job is not None and job.state in HELD:
                    await self._end(work, job)
        for job_id, names in blocked:
            if not set(names) <= going_on:
                await self._machine.advance(job_id)

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
