"""What people do to jobs that there are: cancel, approve, retry. The steps themselves stand in `job_machine`."""

from collections.abc import Awaitable, Callable

from baton.delegate.core.protocol import HELD
from baton.delegate.core.states import JobMachine
from baton.delegate.core.store import Job
from baton.delegate.core.transaction import Work
from baton.delegate.jobs.service import visible
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Conflict, StoreUnavailable
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes import audit_store
from baton.people.permissions import require

Step = Callable[[Work, Job], Awaitable[Job]]


class JobControl:
    """A principal's hand on their jobs."""

    def __init__(self, machine: JobMachine) -> None:
        self._machine = machine

    async def cancel(self, principal: Principal, job_id: str) -> Job:
        """Cancel a job: at once before a runner has it, else by its runner. A second cancel changes nothing.

        Raises:
            Conflict: it has ended otherwise.
            NotFound: there is none that the principal may cancel.
            StoreUnavailable: the database is away; nothing was changed.
        """

        async def cancel(work: Work, job: Job) -> Job:
            if job.state == "cancelled" or (job.state in HELD and job.cancel_requested):
                return job
            if job.state in HELD:
                return await self._machine.ask_to_cancel(work, job)
            if job.state in {"completed", "failed", "skipped"}:
                raise Conflict(f"job `{job.id}` is `{job.state}` already; only one that goes on can be cancelled")
            return await self._machine.end(work, job, "cancelled", cancel_requested=True)

        return await self._step(principal, "jobs.write", job_id, cancel)

    async def approve(self, principal: Principal, job_id: str) -> Job:
        """Let a job that waits for approval go on.

        Raises:
            Conflict: it does not wait for approval.
            NotFound: there is none that the principal may approve.
            StoreUnavailable: the database is away; nothing was changed.
        """

        async def approve(work: Work, job: Job) -> Job:
            if job.state != "pending_approval":
                raise Conflict(f"job `{job.id}` is `{job.state}`; only one that is `pending_approval` can be approved")
            return await self._machine.release(work, job)

        return await self._step(principal, "jobs.decide", job_id, approve)

    async def retry(self, principal: Principal, job_id: str) -> Job:
        """Try a job that did not complete once more; one that nobody has approved waits for that again.

        Raises:
            Conflict: it goes on, or has completed.
            NotFound: there is none that the principal may retry.
            StoreUnavailable: the database is away; nothing was changed.
        """

        async def retry(work: Work, job: Job) -> Job:
            if job.state not in {"failed", "cancelled", "skipped"}:
                raise Conflict(
                    f"job `{job.id}` is `{job.state}`; only one that is `failed`, `cancelled` or `skipped` is retried"
                )
            job = work.change(
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
                return await self._machine.await_approval(work, job)
            return await self._machine.release(work, job)

        return await self._step(principal, "jobs.write", job_id, retry)

    async def _step(self, principal: Principal, action: str, job_id: str, step: Step) -> Job:
        require(principal, action)
        try:
            async with self._machine.work() as work:
                job = visible(principal, await self._machine.lock(work, job_id), job_id, action)
                before, job = job, await step(work, job)
                if before.state != job.state or before.cancel_requested != job.cancel_requested:
                    await audit_store.add(
                        work.connection,
                        principal,
                        action=f"job.{step.__name__}",
                        kind="job",
                        object=job.id,
                        before={"state": before.state},
                        after={"state": job.state, "cancel_requested": job.cancel_requested},
                    )
            return work.stored(job)
        except DatabaseUnavailable:
            raise StoreUnavailable("the job cannot be changed now; nothing was changed, try again") from None
