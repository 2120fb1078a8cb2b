"""Ends what ran out: leases, deadlines, unconfirmed cancels, permission requests. One server at a time sweeps."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta

from baton.delegate.core.job import LEASED_STATES, Job
from baton.delegate.core.states import LEASE, JobStates, last_heard, state_after
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores import permissions as permissions_store
from baton.delegate.core.stores import runners as runners_store
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.core.waiting import expiry_of, waiting_of
from baton.delegate.runners.permissions import JobPermissions
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time import clock
from baton.kernel.changes import leadership

log = logging.getLogger(__name__)

PERIOD = timedelta(seconds=2)
OUTAGE = timedelta(seconds=10)
"""After so long without a sweep nobody could hear a runner: no server was up, or the database was away."""
LEADERSHIP = "jobs"
"""The name under which servers agree on who sweeps."""
CANCEL = timedelta(seconds=30)
"""How long a runner has to end a cancelled job, before the server does."""


class JobSweeper:
    """Looks through the jobs that runners hold, and those that are blocked."""

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

    async def run(self, stop: asyncio.Event) -> None:
        """Sweep every two seconds, unless another process does, until `stop` is set."""
        while not stop.is_set():
            wait = PERIOD
            with contextlib.suppress(DatabaseUnavailable):
                wait = await self.take_turn(datetime.now(UTC))
            await pause(stop, wait.total_seconds())

    async def take_turn(self, now: datetime) -> timedelta:
        """Sweep if it is time; return how long to wait for the next turn.

        After an outage all leases are renewed first: no runner is lost, and no job late, because no server could hear it.
        """
        async with self._database.transaction() as connection:
            if not await jobs.has_unfinished(connection, self._organisation):
                return PERIOD
            last = await leadership.until(connection, self._organisation, LEADERSHIP)
        if last is not None and last > now:
            return min(last - now, PERIOD)
        if not await leadership.take(self._database, self._organisation, LEADERSHIP, now, PERIOD):
            return PERIOD
        if last is not None and now - last > OUTAGE:
            async with clock.writing(self._database) as connection:
                heard = await clock.now(connection)
                await jobs.renew_all(connection, self._organisation, last, heard + LEASE)
                await jobs.extend_queue(connection, self._organisation, last, heard)
        await self.sweep()
        return PERIOD

    async def sweep(self) -> None:
        """Look through all jobs once. Raise DatabaseUnavailable."""
        async with self._database.transaction() as connection:
            now = await clock.now(connection)
            due = await jobs.due(connection, self._organisation, now, now - CANCEL)
            overdue = await permissions_store.overdue(connection, self._organisation, now)
            blocked = await jobs.blocked(connection, self._organisation)
            dependencies = {name for names in blocked.values() for name in names}
            states = await jobs.states(connection, self._organisation, dependencies) if dependencies else {}
            expiring = await jobs.expiring(connection, self._organisation, now)
        for job_id, permission_id in overdue:
            await _log_failure(job_id, self._permissions.expire(job_id, permission_id))
        for job_id in due:
            await _log_failure(job_id, self._end_if_due(job_id))
        for job in expiring:
            await _log_failure(job.id, self._expire(job.id))
        # A net: jobs are advanced by whoever ends their dependency, which may die between its two transactions.
        for job_id, names in blocked.items():
            if state_after(names, states)[0] != "blocked":
                await _log_failure(job_id, self._states.advance(job_id))

    async def _expire(self, job_id: str) -> None:
        """End a queued job that waited too long without a live runner, or note until when it may wait now."""
        async with self._states.transaction() as transaction:
            connection, now = transaction.connection, transaction.now
            job = await self._states.lock(transaction, job_id)
            if job is None or job.state != "queued" or job.expires_at is None:
                return
            runners = await runners_store.usable(connection, self._organisation, {job.user}, {job.team})
            until = expiry_of(job, runners) or now
            if job.disconnected_since is not None:  # its holder may be at work, and take it back
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
        """End a locked job if it is still due: it may have been renewed since it was found."""
        now = transaction.now
        heard = last_heard(job) or now
        if job.lease_until is not None and job.lease_until < now:
            await self._end_lease(transaction, job, heard)
        elif job.cancel_at is not None and job.cancel_at < now - CANCEL:
            why = f"the runner `{job.runner_id}` did not confirm within {CANCEL.seconds} s that it has ended the agent"
            await self._states.stop(transaction, job, "cancelled", "cancel_unconfirmed", why)
        # A runner that was not heard of since may have ended the job in time, and its events are on their way.
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
    """Await a step on one job; an error in it must not keep the sweep from the other jobs. Raise DatabaseUnavailable."""
    try:
        await step
    except DatabaseUnavailable:
        raise
    except Exception:
        log.exception("job %s could not be swept", job_id)
