"""The states of a job and all transitions. Callers check permissions.

    pending_approval → queued → leased → running ⇄ awaiting_permission → completed | failed | cancelled

A job is `blocked` while a dependency has not ended, and `skipped` if the dependency did not complete.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core import attempts
from baton.delegate.core.job import ACTIVE_STATES, ENDED_STATES, LEASED_STATES, Job, State
from baton.delegate.core.job_events import emit_question, emit_state, job_end, question_changed
from baton.delegate.core.notifier import JobNotifier
from baton.delegate.core.protocol import acknowledgement, message, tool_call, tool_call_ended
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores import runners as runners_store
from baton.delegate.core.transaction import JobTransaction
from baton.events.emission import NO_EVENTS, Emitter
from baton.kernel.base import clock
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people import approvals
from baton.records.pipeline.telemetry import JobTraces

LEASE = timedelta(seconds=60)  # maximum silence of a runner before its jobs are disconnected or requeued
SILENCE = timedelta(seconds=30)  # minimum silence of a disconnected runner (polls: 20 s). Deadlines exclude it.
GRACE = timedelta(seconds=15)  # time for a runner to end an overdue job before the server does
_WAITS_FOR_NOTHING: dict[str, Any] = {"waiting_for": "", "waiting_since": None}
EndHook = Callable[[AsyncConnection, Job], Awaitable[None]]
AgentsHook = Callable[[AsyncConnection | None], Awaitable[None]]  # counts a change; notifies after the commit


class JobStates:
    """Performs the state transitions of jobs."""

    def __init__(
        self,
        database: Database,
        notifier: JobNotifier,
        organisation: str,
        on_agents: AgentsHook | None = None,
        events: Emitter = NO_EVENTS,
        traces: JobTraces | None = None,
    ) -> None:
        self._traces = traces
        self._events = events
        self.database = database
        self._on_agents = on_agents
        self._notifier = notifier
        self._organisation = organisation
        self._hooks: list[EndHook] = []
        self._open: dict[int, JobTransaction] = {}

    def on_end(self, hook: EndHook) -> None:
        """Await a hook in every transaction that ends a job. The hook must not lock other jobs."""
        self._hooks.append(hook)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[JobTransaction]:
        """Yield a transaction. Afterwards wake waiting tasks and advance dependent jobs. Raise DatabaseUnavailable."""
        async with clock.writing(self.database) as connection:
            transaction = JobTransaction(connection, await clock.now(connection))
            self._open[id(connection)] = transaction
            try:
                yield transaction
                await transaction.flush()
                # Last: this number is one row for all jobs, locked until the commit.
                if transaction.agents_changed and self._on_agents is not None:
                    await self._on_agents(connection)
            finally:
                del self._open[id(connection)]
        self._notifier.notify(*transaction.topics)
        for job, number in transaction.moved:
            emit_state(self._events, self._organisation, job, number)
        for job, changed in transaction.questions:
            emit_question(self._events, self._organisation, job, changed)
        if transaction.agents_changed and self._on_agents is not None:
            await self._on_agents(None)
        for job in transaction.ended:
            if self._traces is not None:
                self._traces.ended(job_end(job))
            with contextlib.suppress(DatabaseUnavailable):  # the sweeper advances them later
                await self.advance_after(job)

    def open_transaction(self, connection: AsyncConnection) -> JobTransaction | None:
        """Return a connection's open transaction, for hooks that submit jobs in it."""
        return self._open.get(id(connection))

    async def lock(self, transaction: JobTransaction, job_id: str) -> Job | None:
        """Read a job and lock its row until the transaction ends."""
        return await jobs.lock(transaction.connection, self._organisation, job_id)

    async def first_state(self, connection: AsyncConnection, job: Job) -> tuple[State, str]:
        """Return the state of a job without approval, and its failed dependency, or ""."""
        states = await jobs.states(connection, self._organisation, job.depends_on) if job.depends_on else {}
        return state_after(job.depends_on, states)

    async def release(self, transaction: JobTransaction, job: Job) -> Job:
        """Block, queue or skip a job, depending on its dependencies."""
        state, failed = await self.first_state(transaction.connection, job)
        if state == "skipped":
            detail = f"job `{failed}`, a dependency of this job, did not complete"
            return await self.end(transaction, job, "skipped", error_code="dependency_failed", error_detail=detail)
        if state == "blocked":
            return await self.move(transaction, job, "blocked")
        return await self.queue(transaction, job)

    async def queue(self, transaction: JobTransaction, job: Job) -> Job:
        """Queue a job for the next free runner. The first time, announce the delegation to the session."""
        is_new = job.queued_at is None or job.state in ENDED_STATES
        expiry = timedelta(seconds=job.queue_expiry_s)
        expires_at = transaction.now + expiry if expiry else None
        job = transaction.change(job, queued_at=transaction.now, expires_at=expires_at)
        if is_new:
            call = tool_call(job.id, job.provider, job.prompt, job.description)
            transaction.add_orchestrator_update(job, call)
        transaction.wake_runners(job)
        return await self.move(transaction, job, "queued")

    async def announce_lease(self, transaction: JobTransaction, job: Job) -> None:
        """Announce a lease to the session. The agent mode starts only now, since a job may be queued for hours."""
        transaction.enter_mode(job)
        # A redelivered lease has the same attempt number, and is acknowledged once.
        if job.started_at is None and not await events_store.has_attempt(transaction.connection, job):
            transaction.add_orchestrator_update(job, message(acknowledgement(job.provider, job.prompt)))
        self._add_state_event(transaction, job)

    async def start(self, transaction: JobTransaction, job: Job) -> Job:
        """Set a job to running: its agent started, or resumed after a permission request."""
        if job.state == "leased":
            deadline = transaction.now + timedelta(seconds=job.timeout_s) + GRACE
            job = transaction.change(job, started_at=transaction.now, deadline=deadline)
        return await self.move(transaction, job, "running")

    async def request_cancel(self, transaction: JobTransaction, job: Job) -> Job:
        """Command the runner to end a job's agent."""
        job = transaction.change(job, cancel_requested=True, cancel_at=transaction.now)
        await self.command(transaction, job, "cancel", {})
        return await self.move(transaction, job, job.state)

    async def requeue(self, transaction: JobTransaction, job: Job, *, delivered: bool = True) -> Job:
        """Take a job from its runner and queue it again. An undelivered lease is not an attempt."""
        values: dict[str, Any] = {"digest": "", "lease_until": None, "deadline": None, "last_seq": 0, "boot_id": ""}
        values |= _WAITS_FOR_NOTHING
        if delivered:
            await self._close_permissions(transaction, job)
            values |= attempts.ended(job, "failed", "runner_lost", transaction.now)
        else:
            values |= {"attempt": job.attempt - 1, **attempts.taken_back(job)}
        self._free_folder(transaction, job)
        job = await self.queue(transaction, transaction.change(job, **values, disconnected_since=None))
        transaction.leave_mode(job)
        return job

    async def lose(self, transaction: JobTransaction, job: Job, why: str) -> Job:
        """Take a job from a runner that no longer runs it. Queue it again if attempts remain, else end it."""
        if job.cancel_requested:
            return await self.stop(transaction, job, "cancelled", "runner_lost", why)
        if job.attempt < job.max_attempts:
            return await self.requeue(transaction, job)
        return await self.stop(transaction, job, "failed", "runner_lost", why)

    async def disconnect(self, transaction: JobTransaction, job: Job, limit: timedelta) -> Job:
        """Record that a job's runner is disconnected. It keeps the job until the limit.

        A job with attempts left is queued for any runner. It keeps its lease token until another runner takes it, so
        that the holder can reclaim it (`hear`) and no finished work is lost.
        """
        since = last_heard(job) or transaction.now
        if job.attempt >= job.max_attempts:
            job = transaction.change(job, disconnected_since=since, lease_until=since + limit)
            return await self.move(transaction, job, job.state)
        for permission in await self._close_permissions(transaction, job):
            # The agent waits for an answer, and continues if its runner reconnects before another one takes the job.
            await self.command(
                transaction, job, "permission", {"permission": permission, "answer": "deny", "by": "end"}
            )
        job = await self.queue(transaction, transaction.change(job, disconnected_since=since))
        transaction.leave_mode(job)
        return job

    async def hear(self, transaction: JobTransaction, job: Job) -> Job:
        """Renew the lease of a proven holder. Reclaim the job if the holder was disconnected."""
        heard, now = last_heard(job), transaction.now
        away = now - heard if heard is not None else timedelta()
        values: dict[str, Any] = {"lease_until": now + LEASE}
        if job.deadline is not None and away > SILENCE:
            values["deadline"] = (
                job.deadline + away
            )  # a sleeping machine did not work, and its earlier results are on their way
        was_disconnected = job.disconnected_since is not None
        job = transaction.change(job, **values, disconnected_since=None)
        if job.state == "queued":
            transaction.agents_changed = True  # its agent's token is valid again
            transaction.enter_mode(job)
            return await self.move(transaction, job, "leased" if job.started_at is None else "running")
        return await self.move(transaction, job, job.state) if was_disconnected else job

    async def wait_for(self, transaction: JobTransaction, job: Job, what: str) -> Job:
        """Record why a job's runner is blocked, "" if it is not. Deadlines exclude that time."""
        if what == job.waiting_for:
            return job
        values: dict[str, Any] = {"waiting_for": what, "waiting_since": transaction.now if what else None}
        if not what and job.deadline is not None and job.waiting_since is not None:
            values["deadline"] = job.deadline + (transaction.now - job.waiting_since)
        return await self.move(transaction, transaction.change(job, **values), job.state)

    async def stop(self, transaction: JobTransaction, job: Job, state: State, code: str, detail: str) -> Job:
        """End a job by the server's decision. Later reports from its runner are late."""
        job = transaction.change(job, digest="")
        return await self.end(transaction, job, state, error_code=code, error_detail=detail)

    async def end(self, transaction: JobTransaction, job: Job, state: State, **values: Any) -> Job:
        """End a job, await the hooks, notify the session, and reset the agent mode."""
        was_active = job.state in ACTIVE_STATES
        if job.state == "queued":
            job = transaction.change(job, digest="")  # a former holder must not reclaim an ended job
        await self._close_permissions(transaction, job)
        values |= {"lease_until": None, "deadline": None, "disconnected_since": None, **_WAITS_FOR_NOTHING}
        values |= attempts.ended(job, state, values.get("error_code", ""), transaction.now)
        job = transaction.change(job, state=state, ended_at=transaction.now, **values)
        if self._hooks:
            await transaction.save()
        for hook in self._hooks:
            await hook(transaction.connection, job)
        if was_active:
            call_end = tool_call_ended(job.id, completed=state == "completed", detail=job.error_detail)
            transaction.add_orchestrator_update(job, call_end)
            transaction.leave_mode(job)
        self._free_folder(transaction, job)
        transaction.ended.append(job)
        self._add_state_event(transaction, job)
        return job

    async def command(self, transaction: JobTransaction, job: Job, kind: str, body: dict[str, Any]) -> None:
        """Send a command to the runner of a job."""
        await runners_store.add_command(transaction.connection, job, kind, body, transaction.now)
        transaction.topics.add(f"runner {job.runner_user}")

    async def advance_after(self, ended: Job) -> None:
        """Advance the jobs blocked by an ended job, each in its own transaction."""
        async with self.database.transaction() as connection:
            waiting = await jobs.blocked_by(connection, self._organisation, ended.user, ended.id)
        for job_id in waiting:
            await self.advance(job_id)

    async def advance(self, job_id: str) -> None:
        """Release a blocked job if its dependencies have ended."""
        async with self.transaction() as transaction:
            job = await self.lock(transaction, job_id)
            if job is not None and job.state == "blocked":
                state, _ = await self.first_state(transaction.connection, job)
                if state != "blocked":
                    await self.release(transaction, job)

    async def block_followers(self, retried: Job) -> None:
        """Block again the jobs skipped, directly or indirectly, because of a retried job."""
        waiting, known = [retried.id], {retried.id}
        while waiting:
            async with self.database.transaction() as connection:
                followers = await jobs.skipped_after(connection, self._organisation, retried.user, waiting.pop())
            for job_id in followers:
                if job_id not in known and await self._block_again(job_id):
                    waiting.append(job_id)
                known.add(job_id)

    async def _block_again(self, job_id: str) -> bool:
        async with self.transaction() as transaction:
            job = await self.lock(transaction, job_id)
            if job is None or (job.state, job.error_code) != ("skipped", "dependency_failed"):
                return False
            if (await self.first_state(transaction.connection, job))[0] == "skipped":
                return False  # another dependency did not complete either
            await self.release(transaction, transaction.change(job, ended_at=None, error_code="", error_detail=""))
        return True

    async def _close_permissions(self, transaction: JobTransaction, job: Job) -> list[str]:
        if job.state != "awaiting_permission":
            return []
        closed = await approvals.deny_of_job(transaction.connection, job.id, "the attempt has ended")
        for permission in closed:
            body = {"permission": permission, "answer": "deny", "by": "end"}
            transaction.add_event(job, "permission.resolved", body)
            expired = question_changed(job, permission, "expired", answer="deny", reason="end")
            transaction.questions.append((job, expired))
        return closed

    @staticmethod
    def _free_folder(transaction: JobTransaction, job: Job) -> None:
        """Wake the runners of the machine: another job may wait for this folder."""
        if job.folder:
            transaction.topics.add(f"runner {job.runner_user}")

    async def move(self, transaction: JobTransaction, job: Job, state: State) -> Job:
        """Set a job's state, and add its event."""
        job = transaction.change(job, state=state)
        self._add_state_event(transaction, job)
        return job

    @staticmethod
    def _add_state_event(transaction: JobTransaction, job: Job) -> None:
        body: dict[str, Any] = {"state": job.state, "cancel_requested": job.cancel_requested}
        if job.state in LEASED_STATES:
            body["runner"] = job.runner_id
        if job.disconnected_since is not None:
            body["disconnected_since"] = job.disconnected_since.isoformat()
        if job.waiting_for:
            body["waiting_for"] = job.waiting_for
        if job.error_code:
            body["error"] = {"code": job.error_code, "detail": job.error_detail}
        transaction.add_event(job, "job.state", body)


def last_heard(job: Job) -> datetime | None:
    """Return the last contact with a job's holder, or None without a holder."""
    if job.disconnected_since is not None:
        return job.disconnected_since
    return None if job.lease_until is None else job.lease_until - LEASE


def was_away(job: Job, now: datetime) -> bool:
    """Return whether a job's holder was disconnected (`JobStates.hear`)."""
    heard = last_heard(job)
    return job.disconnected_since is not None or (heard is not None and now - heard > SILENCE)


def state_after(depends_on: Iterable[str], states: Mapping[str, State]) -> tuple[State, str]:
    """Return a job's state, and its failed dependency or "". A dependency without a state counts as failed."""
    found = {job_id: states.get(job_id, "failed") for job_id in depends_on}
    failed = next((job_id for job_id, state in found.items() if state in ENDED_STATES and state != "completed"), "")
    if failed:
        return "skipped", failed
    return ("queued" if all(state == "completed" for state in found.values()) else "blocked"), ""
