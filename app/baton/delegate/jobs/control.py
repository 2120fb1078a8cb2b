"""People's actions on jobs: cancel, approve, retry. `delegate.core.states` has the transitions."""

import contextlib
from collections.abc import Awaitable, Callable

from baton.delegate.core.job import ENDED_STATES, LEASED_STATES, Job
from baton.delegate.core.states import JobStates
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.jobs.service import visible
from baton.kernel.base.errors import Conflict
from baton.kernel.base.sql import DatabaseUnavailable, StoreErrors
from baton.kernel.changes import audit_store
from baton.people.users import require
from baton.rules.call.call import Principal

Step = Callable[[JobTransaction, Job], Awaitable[Job]]


class JobControl:
    """Changes jobs for a principal, with audit entries."""

    def __init__(self, states: JobStates) -> None:
        self._states = states

    async def cancel(self, principal: Principal, job_id: str) -> Job:
        """Cancel a job, idempotently. Raise Conflict if it has ended otherwise, NotFound or StoreUnavailable."""

        async def cancel(transaction: JobTransaction, job: Job) -> Job:
            if job.state == "cancelled" or (job.state in LEASED_STATES and job.cancel_requested):
                return job
            if job.state in LEASED_STATES:
                return await self._states.request_cancel(transaction, job)
            if job.state in {"completed", "failed", "skipped"}:
                was = "was " if job.state == "skipped" else ""
                raise Conflict(f"job `{job.id}` {was}{job.state} before the cancel; nothing was changed")
            return await self._states.end(transaction, job, "cancelled", cancel_requested=True)

        return await self._step(principal, "jobs.write", job_id, cancel)

    async def approve(self, principal: Principal, job_id: str) -> Job:
        """Approve a job. Raise Conflict if it does not wait for approval, NotFound or StoreUnavailable."""

        async def approve(transaction: JobTransaction, job: Job) -> Job:
            if job.state != "pending_approval":
                raise Conflict(f"job `{job.id}` is `{job.state}`; only a `pending_approval` job can be approved")
            return await self._states.release(transaction, job)

        return await self._step(principal, "jobs.decide", job_id, approve)

    async def retry(self, principal: Principal, job_id: str) -> Job:
        """Retry an uncompleted job, with approval if it had none. Raise Conflict, NotFound or StoreUnavailable."""

        async def retry(transaction: JobTransaction, job: Job) -> Job:
            if job.state not in {"failed", "cancelled", "skipped"}:
                raise Conflict(
                    f"job `{job.id}` is `{job.state}`; only a `failed`, `cancelled` or `skipped` job can be retried"
                )
            job = transaction.change(
                job,
                max_attempts=max(job.max_attempts, job.attempt + 1),
                cancel_requested=False,
                cancel_at=None,
                digest="",
                last_seq=0,
                progress="",
                output="",
                error_code="",
                error_detail="",
                late_result=None,
                started_at=None,
                ended_at=None,
            )
            if job.approval == "ask" and job.queued_at is None:
                return await self._states.move(transaction, job, "pending_approval")
            return await self._states.release(transaction, job)

        retried = await self._step(principal, "jobs.write", job_id, retry)
        if retried.state not in ENDED_STATES:
            with contextlib.suppress(DatabaseUnavailable):  # the job itself is already retried
                await self._states.block_followers(retried)
        return retried

    async def _step(self, principal: Principal, action: str, job_id: str, step: Step) -> Job:
        require(principal, action)
        with StoreErrors("the job cannot be changed now; nothing was changed, try again"):
            async with self._states.transaction() as transaction:
                job = visible(principal, await self._states.lock(transaction, job_id), job_id, action)
                before, job = job, await step(transaction, job)
                if before.state != job.state or before.cancel_requested != job.cancel_requested:
                    await audit_store.add(
                        transaction.connection,
                        principal,
                        action=f"job.{step.__name__}",
                        object=job.id,
                        before={"state": before.state},
                        after={"state": job.state, "cancel_requested": job.cancel_requested},
                    )
            return transaction.latest(job)
