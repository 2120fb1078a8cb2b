"""The states of a job, and every step from one to another. It does not say who may ask for a step.

pending_approval → queued → leased → running ⇄ awaiting_permission → completed | failed | cancelled, with blocked while
a dependency has not ended and skipped when one failed.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core import permissions_store, runners_store
from baton.delegate.core import store as jobs
from baton.delegate.core.bell import Bell
from baton.delegate.core.protocol import (
    ACTIVE,
    ENDED,
    HELD,
    State,
    acknowledgement,
    message,
    state_after,
    tool_call,
    tool_call_ended,
)
from baton.delegate.core.store import Job
from baton.delegate.core.transaction import Work
from baton.kernel.base import clock
from baton.kernel.base.sql import Database, DatabaseUnavailable

GRACE = timedelta(seconds=15)
"""How long a runner has to end a job whose time is over, before the server does."""
Hook = Callable[[AsyncConnection, Job], Awaitable[None]]


class JobMachine:
    """Takes jobs through their states."""

    def __init__(self, database: Database, bell: Bell, organisation: str) -> None:
        self.database = database
        self._bell = bell
        self._organisation = organisation
        self._hooks: list[Hook] = []
        self._open: dict[int, Work] = {}

    def on_end(self, hook: Hook) -> None:
        """Have a hook awaited in every transaction that ends a job; it must lock no other job."""
        self._hooks.append(hook)

    @contextlib.asynccontextmanager
    async def work(self) -> AsyncIterator[Work]:
        """Give a transaction; after its commit who waits is woken, and what waited for an ended job goes on.

        Raises:
            DatabaseUnavailable: nothing was changed.
        """
        async with clock.writing(self.database) as connection:
            work = Work(connection, await clock.now(connection))
            self._open[id(connection)] = work
            try:
                yield work
                await work.flush()
            finally:
                del self._open[id(connection)]
        self._bell.ring(*work.topics)
        for job in work.ended:
            with contextlib.suppress(DatabaseUnavailable):  # the sweeper lets them go on then
                await self.advance_after(job)

    def joined(self, connection: AsyncConnection) -> Work | None:
        """Give the open work of a connection, for a hook that makes jobs in it."""
        return self._open.get(id(connection))

    async def lock(self, work: Work, job_id: str) -> Job | None:
        """Read a job and keep others from changing it."""
        return await jobs.lock(work.connection, self._organisation, job_id)

    async def first_state(self, connection: AsyncConnection, job: Job) -> tuple[State, str]:
        """Tell the state of a job that waits for nobody's approval, and the dependency that failed, "" for none."""
        states = await jobs.states(connection, self._organisation, job.depends_on) if job.depends_on else {}
        return state_after(job.depends_on, states)

    async def await_approval(self, work: Work, job: Job) -> Job:
        """Have a job wait until a person lets it go on."""
        return await self._moved(work, job, "pending_approval")

    async def release(self, work: Work, job: Job) -> Job:
        """Let a job wait for its dependencies, be taken by a runner, or be skipped."""
        state, failed = await self.first_state(work.connection, job)
        if state == "skipped":
            detail = f"the job `{failed}`, which it depends on, did not complete"
            return await self.end(work, job, "skipped", error_code="dependency_failed", error_detail=detail)
        if state == "blocked":
            return await self._moved(work, job, "blocked")
        return await self.queue(work, job)

    async def queue(self, work: Work, job: Job) -> Job:
        """Have a job taken by the next runner that is free; the session is told of the delegation at the first time."""
        anew = job.queued_at is None or job.state in ENDED
        job = work.change(job, queued_at=work.now)
        if anew:
            work.say(job, tool_call(job.id, job.provider, job.prompt, job.description))
            work.enter_mode(job)
            work.say(job, message(acknowledgement(job.provider, job.prompt)))
        work.wake_runners(job)
        return await self._moved(work, job, "queued")

    def leased(self, work: Work, job: Job) -> None:
        """Tell that a runner has taken a job."""
        self._tell_state(work, job)

    async def run(self, work: Work, job: Job) -> Job:
        """Note that the agent is at work."""
        first = job.state == "leased"
        if first:
            deadline = work.now + timedelta(seconds=job.timeout_s) + GRACE
            job = work.change(job, started_at=work.now, deadline=deadline)
        return await self._moved(work, job, "running")

    async def await_permission(self, work: Work, job: Job) -> Job:
        """Note that the agent waits for a person."""
        return await self._moved(work, job, "awaiting_permission")

    async def ask_to_cancel(self, work: Work, job: Job) -> Job:
        """Have the runner end the agent of a job."""
        job = work.change(job, cancel_requested=True, cancel_at=work.now)
        await self.command(work, job, "cancel", {})
        return await self._moved(work, job, job.state)

    async def requeue(self, work: Work, job: Job, *, delivered: bool = True) -> Job:
        """Take a job from its runner for another attempt; one that never reached the runner was no attempt."""
        values: dict[str, Any] = {"digest": "", "lease_until": None, "deadline": None, "last_seq": 0, "boot_id": ""}
        if delivered:
            await self._close_permissions(work, job)
        else:
            values["attempt"] = job.attempt - 1
        return await self.queue(work, work.change(job, **values))

    async def lose(self, work: Work, job: Job, why: str) -> Job:
        """Give up a job's runner: another attempt if there may be one, else the job has failed."""
        if job.cancel_requested:
            return await self.stop(work, job, "cancelled", "runner_lost", why)
        if job.attempt < job.max_attempts:
            return await self.requeue(work, job)
        return await self.stop(work, job, "failed", "runner_lost", why)

    async def stop(self, work: Work, job: Job, state: State, code: str, detail: str) -> Job:
        """End a job by the server's own word; what its runner still says comes too late."""
        job = work.change(job, digest="")
        return await self.end(work, job, state, error_code=code, error_detail=detail)

    async def end(self, work: Work, job: Job, state: State, **values: Any) -> Job:
        """End a job, tell the graphs and the session, and have the agent mode return."""
        was_active = job.state in ACTIVE
        await self._close_permissions(work, job)
        job = work.change(job, state=state, ended_at=work.now, lease_until=None, deadline=None, **values)
        if self._hooks:
            await work.save()
        for hook in self._hooks:
            await hook(work.connection, job)
        if was_active:
            work.say(job, tool_call_ended(job.id, completed=state == "completed", detail=job.error_detail))
            work.leave_mode(job)
        work.ended.append(job)
        self._tell_state(work, job)
        return job

    async def command(self, work: Work, job: Job, kind: str, body: dict[str, Any]) -> None:
        """Leave a command for a job's runner."""
        await runners_store.tell(work.connection, job, kind, body, work.now)
        work.topics.add(f"runner {job.runner_user}")

    async def advance_after(self, ended: Job) -> None:
        """Let go on what waited for a job that has ended."""
        async with self.database.transaction() as connection:
            waiting = await jobs.blocked_by(connection, self._organisation, ended.user, ended.id)
        for job_id in waiting:
            await self.advance(job_id)

    async def advance(self, job_id: str) -> None:
        """Let a blocked job go on if its dependencies have ended."""
        async with self.work() as work:
            job = await self.lock(work, job_id)
            if job is not None and job.state == "blocked":
                state, _ = await self.first_state(work.connection, job)
                if state != "blocked":
                    await self.release(work, job)

    async def _close_permissions(self, work: Work, job: Job) -> None:
        if job.state != "awaiting_permission":
            return
        for permission in await permissions_store.close(work.connection, job.id, work.now):
            work.tell(job, "permission.resolved", {"permission": permission, "answer": "deny", "by": "end"})

    async def _moved(self, work: Work, job: Job, state: State) -> Job:
        job = work.change(job, state=state)
        self._tell_state(work, job)
        return job

    @staticmethod
    def _tell_state(work: Work, job: Job) -> None:
        body: dict[str, Any] = {"state": job.state, "cancel_requested": job.cancel_requested}
        if job.state in HELD:
            body["runner"] = job.runner_id
        if job.error_code:
            body["error"] = {"code": job.error_code, "detail": job.error_detail}
        work.tell(job, "job.state", body)
