"""Submits, finds and reads jobs. See `delegate.core.states` and `delegate.runners` for the rest."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from uuid import uuid4

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import CONTINUE, ENDED_STATES, FRESH, Job, JobEvent, JobFilter, JobSpec
from baton.delegate.core.notifier import JobNotifier, wait
from baton.delegate.core.protocol import text_of
from baton.delegate.core.states import EndHook, JobStates
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs as store
from baton.delegate.core.stores import runners as runners_store
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.core.waiting import Waiting, frozen
from baton.delegate.jobs.new_job import LONGEST_KEY, JobDefaults, check_served, checked, digest_of
from baton.kernel.base import clock, trace
from baton.kernel.base.errors import Conflict, Forbidden, Invalid, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable, StoreErrors
from baton.modes.freezes import Freezes
from baton.people.users import covers, reach, require, row_scope
from baton.rules.call.call import Principal

_AWAY = "jobs cannot be read or changed now; nothing was changed, try again"
OwnsGraph = Callable[[AsyncConnection, Principal, str], Awaitable[bool]]  # injected, since graphs are a higher room
_THREADS = [CONTINUE, FRESH, "the id of an ended job"]
LONGEST_OUTPUT = 4 << 20  # maximum length of an output assembled from an agent's messages, in characters


class Jobs:
    """The jobs of an organisation."""

    def __init__(
        self,
        database: Database,
        states: JobStates,
        notifier: JobNotifier,
        freezes: Freezes,
        owns_graph: OwnsGraph,
        defaults: JobDefaults,
    ) -> None:
        self._freezes = freezes
        self._defaults = defaults
        self._database = database
        self._states = states
        self._notifier = notifier
        self._owns_graph = owns_graph

    def on_end(self, hook: EndHook) -> None:
        """Await a hook in every transaction that ends a job. It may submit jobs, but must not lock others."""
        self._states.on_end(hook)

    async def submit(
        self,
        principal: Principal,
        new: JobSpec,
        *,
        idempotency_key: str = "",
        connection: AsyncConnection | None = None,
    ) -> Job:
        """Submit a job. Return the existing job for the same idempotency key and task.

        With a `connection`, the job is created in the caller's transaction; the caller awaits `announce` after the
        commit. Raise Conflict if the key was used for another job, Forbidden, Invalid or StoreUnavailable.
        """
        if require(principal, "jobs.submit") == "job" and new.session_id != principal.session:
            raise Forbidden(f"the token belongs to an agent allowed to delegate in session `{principal.session}` alone")
        new = checked(new)
        if len(idempotency_key) > LONGEST_KEY:
            raise Invalid("Idempotency-Key", f"has more than {LONGEST_KEY} characters")
        if connection is None:
            with StoreErrors(_AWAY):
                async with self._states.transaction() as transaction:
                    job = await self._submit(transaction, principal, new, idempotency_key)
                return transaction.latest(job)
        open_transaction = self._states.open_transaction(connection)
        if open_transaction is not None:  # an end hook submits: its transaction stores and announces the job
            return await self._submit(open_transaction, principal, new, idempotency_key)
        transaction = JobTransaction(connection, await clock.now(connection))
        job = await self._submit(transaction, principal, new, idempotency_key)
        await transaction.flush()
        return transaction.latest(job)

    async def announce(self, job: Job) -> None:
        """Wake the tasks waiting for a job created in a caller's committed transaction."""
        self._notifier.notify(f"job {job.id}", f"session {job.user} {job.session_id}", f"runner {job.user}")
        self._notifier.notify(f"team {job.team}")
        if job.state == "blocked":  # its dependency may have ended before the commit without seeing the blocked job
            await self._states.advance(job.id)

    async def get(self, principal: Principal, job_id: str, action: str = "jobs.read") -> Job:
        """Return a job on which the principal may do the action. Raise Forbidden, NotFound or StoreUnavailable."""
        require(principal, action)
        async with self._database.transaction(_AWAY) as connection:
            job = await store.get(connection, principal.organisation, job_id)
        return visible(principal, job, job_id, action)

    async def news(self, principal: Principal, job_id: str, after: int, wait_s: float) -> Job:
        """Return a job at its end, with events after `after`, or at timeout. Raise NotFound or StoreUnavailable."""
        ends = asyncio.get_running_loop().time() + wait_s
        with self._notifier.subscribe(f"job {job_id}") as woken:
            while True:
                job = await self.get(principal, job_id)
                left_s = ends - asyncio.get_running_loop().time()
                if job.state in ENDED_STATES or job.next_no - 1 > after or left_s <= 0:
                    return job
                await wait(woken, min(left_s, self._notifier.pause_s))

    async def find(self, principal: Principal, wanted: JobFilter, *, before: tuple[str, ...], limit: int) -> list[Job]:
        """Find jobs, newest first. `before`: creation time and id. Raise Invalid, Forbidden or StoreUnavailable."""
        rows = row_scope(principal, "jobs.read")
        try:
            _ = before[0] and datetime.fromisoformat(before[0])
            return await store.find_jobs(
                self._database, principal.organisation, rows, wanted, before=before, limit=limit
            )
        except ValueError:
            raise Invalid("cursor", "is invalid; pass the `next_cursor` of the previous page") from None
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def waiting(self, found: Sequence[Job]) -> dict[str, Waiting]:
        """Return the wait reasons of queued jobs, by id; {} while the database is unavailable."""
        queued = [job for job in found if job.state == "queued"]
        # The main request is already done. No error may hide that.
        with contextlib.suppress(DatabaseUnavailable):
            if queued:
                async with self._database.transaction() as connection:
                    return await runners_store.waiting(connection, queued) | self._frozen(queued)
        return {}

    def _frozen(self, queued: Sequence[Job]) -> dict[str, Waiting]:
        found = {}
        for job in queued:
            whose = Principal(organisation=job.organisation, user=job.user, team=job.team)
            if freeze := self._freezes.in_force(whose, job.project, job.session_id):
                found[job.id] = frozen(freeze, job.queued_at or job.created_at)
        return found

    async def output(self, principal: Principal, job_id: str) -> str:
        """Return the agent's answer so far. Raise NotFound or StoreUnavailable."""
        job = await self.get(principal, job_id)
        if job.output:
            return job.output
        parts: list[str] = []
        size = after = 0
        async with self._database.transaction(_AWAY) as connection:
            while events := await events_store.of_job(connection, job.id, after):
                after = events[-1].no
                for event in events:
                    if event.attempt == job.attempt and event.seq is not None and size < LONGEST_OUTPUT:
                        parts.append(text_of(event.body.get("update", {})))
                        size += len(parts[-1])
        return "".join(parts)

    async def change(self, principal: Principal, job_id: str) -> tuple[Job, JobEvent | None]:
        """Return a job and its event with the changes in its worktree, or None. Raise NotFound or StoreUnavailable."""
        job = await self.get(principal, job_id)
        async with self._database.transaction(_AWAY) as connection:
            return job, await events_store.last_of_type(connection, job.id, "workspace.diff")

    async def _submit(self, transaction: JobTransaction, principal: Principal, new: JobSpec, key: str) -> Job:
        digest = digest_of(new) if key else ""
        if key and (
            known := await store.find_by_key(transaction.connection, principal.organisation, principal.user, key)
        ):
            return _same(known, digest, key)
        new, before = await self._continued(transaction, principal, new)
        await self._check_dependencies(transaction, principal, new)
        usable = await runners_store.usable(
            transaction.connection, principal.organisation, {principal.user}, {principal.team}
        )
        check_served(new, usable, before)
        named = "" if new.task else new.graph_id  # the graph's lock covers the jobs of its tasks
        if named and not await self._owns_graph(transaction.connection, principal, named):
            raise Invalid("graph", f"is `{new.graph_id[:100]}`, not one of your task graphs")
        job_id = f"job_{uuid4().hex}"
        fields = msgspec.structs.asdict(new) | self._defaults.fill(new) | {"session_id": new.session_id or job_id}
        # A delegating agent in place waits for its job, so that job must not wait for the same folder.
        fields["concurrent"] = new.concurrent or principal.job != ""
        job = Job(
            traceparent=trace.parent.get(),
            **fields,
            id=job_id,
            organisation=principal.organisation,
            user=principal.user,
            team=principal.team,
            state="pending_approval",
            created_at=transaction.now,
            idempotency_key=key or None,
            idempotency_digest=digest,
            agent_session=before.agent_session if before else "",
            thread_user=before.runner_user if before else "",
            thread_runner=before.runner_id if before else "",
        )
        if not await store.add(transaction.connection, job):
            known = await store.find_by_key(transaction.connection, principal.organisation, principal.user, key)
            assert known is not None  # noqa: S101 - it is the conflicting job
            return _same(known, digest, key)
        if new.approval == "ask":
            transaction.add_event(job, "job.state", {"state": job.state, "cancel_requested": False})
            return job
        return await self._states.release(transaction, job)

    async def _continued(
        self, transaction: JobTransaction, principal: Principal, new: JobSpec
    ) -> tuple[JobSpec, Job | None]:
        """Return a job with the inherited fields of the job it continues, and that job, or None."""
        if new.thread in {CONTINUE, FRESH}:
            return new, None
        before = await store.get(transaction.connection, principal.organisation, new.thread)
        if before is None or before.user != principal.user or not _covers(principal, "jobs.read", before):
            raise Invalid("thread", f"is `{new.thread[:100]}`, not one of your jobs", _THREADS)
        if before.state not in ENDED_STATES:
            raise Invalid("thread", f"names job `{before.id}`, which is `{before.state}`; wait for its end")
        if not before.agent_session:
            raise Invalid("thread", f"names job `{before.id}`, but its agent never started", [CONTINUE, FRESH])
        for field in ("provider", "workspace"):
            given, theirs = getattr(new, field), getattr(before, field)
            if given not in {"", theirs}:
                whose = f"`{theirs}`" if theirs else "its runner's first workspace"
                raise Invalid(field, f"is `{given[:100]}`, but job `{before.id}`, the `thread`, is of {whose}")
        taken = {name: getattr(new, name) or getattr(before, name) for name in ("provider", "workspace", "session_id")}
        return msgspec.structs.replace(new, **taken), before

    async def _check_dependencies(self, transaction: JobTransaction, principal: Principal, new: JobSpec) -> None:
        found = (
            await store.get_several(transaction.connection, principal.organisation, new.depends_on)
            if new.depends_on
            else []
        )
        theirs = {job.id for job in found if job.user == principal.user}
        for job_id in new.depends_on:
            if job_id not in theirs:
                raise Invalid("depends_on", f"names `{job_id[:100]}`, not one of your jobs")


_OF_HOSTS = frozenset({"jobs.read", "jobs.decide"})


def visible(principal: Principal, job: Job | None, job_id: str, action: str) -> Job:
    """Return a job on which the principal may do the action. Raise NotFound.

    The owner of the runner's machine may read the job and answer its agent, whoever submitted it. An agent's token
    covers its own job, and a delegating agent's the jobs of its session.
    """
    if job is None or not _covers(principal, action, job):
        raise NotFound(f"there is no job `{job_id[:100]}`")
    return job


def _covers(principal: Principal, action: str, job: Job) -> bool:
    if reach(principal, action) == "job":
        its_own = action == "jobs.read" and job.id == principal.job
        delegated = principal.session != "" and (job.user, job.session_id) == (principal.user, principal.session)
        return its_own or (delegated and job.id != principal.job)
    hosted = action in _OF_HOSTS and job.runner_user == principal.user
    return hosted or covers(principal, action, user=job.user, team=job.team)


def _same(job: Job, digest: str, key: str) -> Job:
    if job.idempotency_digest != digest:
        raise Conflict(f"the idempotency key `{key}` was already used for another task, `{job.id}`; nothing was made")
    return job
