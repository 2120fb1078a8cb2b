"""Ends expired leases, deadlines, cancels and permission requests. One server at a time sweeps."""

import logging
from collections.abc import Awaitable
from datetime import datetime, timedelta

from baton.delegate.core.job import LEASED_STATES, Job
from baton.delegate.core.states import LEASE, JobStates, last_heard, state_after
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores import runners as runners_store
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.core.waiting import expiry_of, waiting_of
from baton.delegate.runners.permissions import JobPermissions
from baton.kernel.base import clock
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import announce
from baton.people import approvals

log = logging.getLogger(__name__)

PERIOD = timedelta(seconds=2)
OUTAGE = timedelta(seconds=10)  # time without sweeps that indicates an outage of servers or database
LEADERSHIP = "jobs"  # the leadership name of the sweep
CANCEL = timedelta(seconds=30)  # time for a runner to confirm a cancel before the server ends the job


class JobSweeper:
    """Sweeps leased, blocked and queued jobs."""

    def __init__(
        self,
        database: Database,
        states: JobStates,
        permissions: JobPermissions,
        organisation: str,
        *,
        longest_disconnect_s: float,
    ) -> None:
        self._longest_disconnect = timedelta(seconds=longest_disconnect_s)
        self._database = database
        self._states = states
        self._permissions = permissions
        self._organisation = organisation
        self._nothing_at: tuple[int, ...] = ()  # the database's stamp without an unfinished job

    async def take_turn(self, now: datetime) -> None:
        """Sweep if no other server does. After an outage, first renew all leases. Raise DatabaseUnavailable."""
        stamp = self._database.stamp()
        if stamp and stamp == self._nothing_at:
            return
        async with self._database.transaction() as connection:
            if not await jobs.has_unfinished(connection, self._organisation):
                self._nothing_at = stamp
                return
            last = await announce.until(connection, self._organisation, LEADERSHIP)
        led = last is not None and last > now
        if led or not await announce.take_turn(self._database, self._organisation, LEADERSHIP, now, PERIOD):
            return
        if last is not None and now - last > OUTAGE:
            async with clock.writing(self._database) as connection:
                heard = await clock.now(connection)
                await jobs.renew_all(connection, self._organisation, last, heard + LEASE)
                await jobs.extend_queue(connection, self._organisation, last, heard)
        await self.sweep()

    async def sweep(self) -> None:
        """Sweep all jobs once. Raise DatabaseUnavailable."""
        async with self._database.transaction() as connection:
            now = await clock.now(connection)
            due = await jobs.due(connection, self._organisation, now, now - CANCEL)
            overdue = await approvals.overdue_jobs(connection, self._organisation, now)
            blocked = await jobs.blocked(connection, self._organisation)
            dependencies = {name for names in blocked.values() for name in names}
            states = await jobs.states(connection, self._organisation, dependencies) if dependencies else {}
            expiring = await jobs.expiring(connection, self._organisation, now)
        for job_id in overdue:
            await _log_failure(job_id, self._permissions.expire(job_id))
        for job_id in due:
            await _log_failure(job_id, self._end_if_due(job_id))
        for job in expiring:
            await _log_failure(job.id, self._expire(job.id))
        # A safety net: a process that ends a dependency may crash before advancing the blocked jobs.
        for job_id, names in blocked.items():
            if state_after(names, states)[0] != "blocked":
                await _log_failure(job_id, self._states.advance(job_id))

    async def _expire(self, job_id: str) -> None:
        """End a queued job after its wait without a live runner, or update its expiry."""
        async with self._states.transaction() as transaction:
            connection, now = transaction.connection, transaction.now
            job = await self._states.lock(transaction, job_id)
            if job is None or job.state != "queued" or job.expires_at is None:
                return
            runners = await runners_store.usable(connection, self._organisation, {job.user}, {job.team})
            until = expiry_of(job, runners) or now
            if job.disconnected_since is not None:  # its holder may be working, and reclaim it
                until = max(until, job.disconnected_since + self._longest_disconnect)
            if until > now:
                transaction.change(job, expires_at=until)
                return
            waiting = waiting_of(job, runners, (), now)
            why = f"no runner took it in {job.queue_expiry_s} s" + (f": {waiting.detail}" if waiting else "")
            await self._states.end(transaction, job, "failed", error_code="queue_expired", error_detail=why)

    async def _end_if_due(self, job_id: str) -> None:
        async with self._states.transaction() as transaction:
            job = await self._states.lock(transaction, job_id)
            if job is not None and job.state in LEASED_STATES:
                await self._end(transaction, job)

    async def _end(self, transaction: JobTransaction, job: Job) -> None:
        now = transaction.now
        heard = last_heard(job) or now
        if job.lease_until is not None and job.lease_until < now:
            await self._end_lease(transaction, job, heard)
        elif job.cancel_at is not None and job.cancel_at < now - CANCEL:
            why = f"the runner `{job.runner_id}` did not confirm within {CANCEL.seconds} s that it has ended the agent"
            await self._states.stop(transaction, job, "cancelled", "cancel_unconfirmed", why)
        # A runner silent since then may have ended the job in time, with its events in transit.
        elif job.deadline is not None and job.deadline < min(now, heard) and not job.waiting_for:
            await self._states.command(transaction, job, "cancel", {})
            why = f"the agent did not finish within {job.timeout_s} s"
            await self._states.stop(transaction, job, "failed", "timeout", why)

    async def _end_lease(self, transaction: JobTransaction, job: Job, heard: datetime) -> None:
        now, runner = transaction.now, f"the runner `{job.runner_id}`"
        if await runners_store.is_alive(transaction.connection, job, now - LEASE):
            await self._states.lose(transaction, job, f"{runner} no longer runs it")
        elif job.cancel_requested or now - heard >= self._longest_disconnect:
            await self._states.lose(transaction, job, f"{runner} was not heard of since {heard:%Y-%m-%d %H:%M:%S} UTC")
        else:
            await self._states.disconnect(transaction, job, self._longest_disconnect)


async def _log_failure(job_id: str, step: Awaitable[None]) -> None:
    """Await a step on one job. Log errors, so that the sweep continues. Raise DatabaseUnavailable."""
    try:
        await step
    except DatabaseUnavailable:
        raise
    except Exception:
        log.exception("job %s could not be swept", job_id)
