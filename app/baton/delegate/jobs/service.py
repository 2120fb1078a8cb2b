"""Delegated tasks: made, found, read. What becomes of them stands in `job_machine`, who runs them in `runners`."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import uuid4

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core import events_store, runners_store, store
from baton.delegate.core.bell import Bell
from baton.delegate.core.protocol import text_of
from baton.delegate.core.states import Hook, JobMachine
from baton.delegate.core.store import Job, JobFilter
from baton.delegate.core.transaction import Work
from baton.delegate.jobs.new_job import LONGEST_KEY, NewJob, checked, digest_of
from baton.engine.call.principal import Principal
from baton.kernel.base import clock
from baton.kernel.base.errors import Conflict, Invalid, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.permissions import covers, require
from baton.people.row_scope import RowScope, row_scope

__all__ = ["Job", "JobFilter", "Jobs", "NewJob"]

_AWAY = "jobs cannot be read or changed now; nothing was changed, try again"
OwnsGraph = Callable[[AsyncConnection, Principal, str], Awaitable[bool]]
"""Tells whether a task graph, by its id, is a principal's own; graphs live in a room above this one."""
LONGEST_OUTPUT = 4 << 20
"""Characters of an output that is put together from what an agent said."""


class Jobs:
    """A principal's delegated tasks."""

    def __init__(self, database: Database, machine: JobMachine, bell: Bell, owns_graph: OwnsGraph) -> None:
        self._database = database
        self._machine = machine
        self._bell = bell
        self._owns_graph = owns_graph

    def on_end(self, hook: Hook) -> None:
        """Have a hook awaited in every transaction that ends a job; it may submit jobs, and must lock no other one."""
        self._machine.on_end(hook)

    async def submit(
        self, principal: Principal, new: NewJob, *, idempotency_key: str = "", connection: AsyncConnection | None = None
    ) -> Job:
        """Make a job; with a connection in the caller's transaction, which `announce` must follow once it is committed.

        The same key with the same task gives the job that there is.

        Raises:
            Conflict: the key was used for another task.
            Forbidden: the role may not.
            Invalid: naming the field; nothing was made.
            StoreUnavailable: the database is away; nothing was made.
        """
        require(principal, "jobs.submit")
        new = checked(new)
        if len(idempotency_key) > LONGEST_KEY:
            raise Invalid("Idempotency-Key", f"has more than {LONGEST_KEY} characters")
        if connection is None:
            try:
                async with self._machine.work() as work:
                    job = await self._submit(work, principal, new, idempotency_key)
                return work.stored(job)
            except DatabaseUnavailable:
                raise StoreUnavailable(_AWAY) from None
        joined = self._machine.joined(connection)
        if joined is not None:
            return await self._submit(joined, principal, new, idempotency_key)
        work = Work(connection, await clock.now(connection))
        job = await self._submit(work, principal, new, idempotency_key)
        await work.flush()
        return work.stored(job)

    async def announce(self, job: Job) -> None:
        """Wake who waits for a job that a transaction of somebody else's has made; it must be committed."""
        self._bell.ring(f"job {job.id}", f"session {job.user} {job.session_id}", f"runner {job.user}")
        self._bell.ring(f"team {job.team}")
        if job.state == "blocked":
            await self._machine.advance(job.id)

    async def get(self, principal: Principal, job_id: str, action: str = "jobs.read") -> Job:
        """Give a job.

        Raises:
            Forbidden: the role may never do this.
            NotFound: there is none that the principal may do this to.
            StoreUnavailable: the database is away.
        """
        require(principal, action)
        try:
            async with self._database.transaction() as connection:
                job = await store.get(connection, principal.organisation, job_id)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        return visible(principal, job, job_id, action)

    async def find(self, principal: Principal, wanted: JobFilter, *, before: tuple[str, ...], limit: int) -> list[Job]:
        """Find jobs, the newest first; `before` is the moment and id of the last one of the page before.

        Raises:
            Invalid: `before` is none of ours.
            StoreUnavailable: the database is away.
        """
        theirs = row_scope(principal, "jobs.read")
        try:
            _ = before[0] and datetime.fromisoformat(before[0])
            return await store.find(self._database, principal.organisation, theirs, wanted, before=before, limit=limit)
        except ValueError:
            raise Invalid("cursor", "is not a cursor; take `next_cursor` of the page before") from None
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def output(self, principal: Principal, job_id: str) -> str:
        """Give what a job's agent answered, so far where it is still at work.

        Raises:
            NotFound: there is none that the principal may see.
            StoreUnavailable: the database is away.
        """
        job = await self.get(principal, job_id)
        if job.output:
            return job.output
        parts: list[str] = []
        size = after = 0
        try:
            async with self._database.transaction() as connection:
                while events := await events_store.of_job(connection, job.id, after):
                    after = events[-1].no
                    for event in events:
                        if event.attempt == job.attempt and event.seq is not None and size < LONGEST_OUTPUT:
                            parts.append(text_of(event.body.get("update", {})))
                            size += len(parts[-1])
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        return "".join(parts)

    async def _submit(self, work: Work, principal: Principal, new: NewJob, key: str) -> Job:
        digest = digest_of(new) if key else ""
        if key and (known := await store.of_key(work.connection, principal.organisation, principal.user, key)):
            return _same(known, digest, key)
        await self._check_dependencies(work, principal, new)
        await self._check_workspace(work, principal, new)
        named = "" if new.task else new.graph_id  # a task's job is made by whoever holds the graph
        if named and not await self._owns_graph(work.connection, principal, named):
            raise Invalid("graph", f"is `{new.graph_id[:100]}`, which is no task graph of yours")
        job_id = f"job_{uuid4().hex}"
        job = Job(
            **msgspec.structs.asdict(msgspec.structs.replace(new, session_id=new.session_id or job_id)),
            id=job_id,
            organisation=principal.organisation,
            user=principal.user,
            team=principal.team,
            state="pending_approval",
            created_at=work.now,
            idempotency_key=key or None,
            idempotency_digest=digest,
        )
        if not await store.add(work.connection, job):
            known = await store.of_key(work.connection, principal.organisation, principal.user, key)
            assert known is not None  # noqa: S101 - it is what kept this one from being stored
            return _same(known, digest, key)
        if new.approval == "ask":
            work.tell(job, "job.state", {"state": job.state, "cancel_requested": False})
            return job
        return await self._machine.release(work, job)

    async def _check_dependencies(self, work: Work, principal: Principal, new: NewJob) -> None:
        found = await store.several(work.connection, principal.organisation, new.depends_on) if new.depends_on else []
        theirs = {job.id for job in found if job.user == principal.user}
        for job_id in new.depends_on:
            if job_id not in theirs:
                raise Invalid("depends_on", f"names `{job_id[:100]}`, which is no job of yours")

    async def _check_workspace(self, work: Work, principal: Principal, new: NewJob) -> None:
        """Refuse an alias that none of the runners which the caller has knows; without runners nobody can tell."""
        if not new.workspace:
            return
        known = await runners_store.find(work.connection, principal.organisation, RowScope(user=principal.user))
        team = await runners_store.find(
            work.connection, principal.organisation, RowScope(user=principal.user, team=principal.team)
        )
        usable = [*known, *(runner for runner in team if runner.shared)]
        aliases = sorted({alias for runner in usable for alias in runner.workspaces})
        if usable and new.workspace not in aliases:
            raise Invalid("workspace", f"is `{new.workspace[:100]}`, which none of your runners knows", aliases)


def visible(principal: Principal, job: Job | None, job_id: str, action: str) -> Job:
    """Give a job that a principal may do this to.

    Raises:
        NotFound: there is none, or it is another's.
    """
    if job is None or not covers(principal, action, user=job.user, team=job.team):
        raise NotFound(f"there is no job `{job_id[:100]}`")
    return job


def _same(job: Job, digest: str, key: str) -> Job:
    if job.idempotency_digest != digest:
        raise Conflict(f"the idempotency key `{key}` was used for another task, `{job.id}`; nothing was made")
    return job
