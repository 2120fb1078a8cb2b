"""One transaction that changes jobs, and what follows from its commit. It decides no state: `job_machine` does.

Locks are taken in one order, so that two transactions never wait for each other: a job, its graph (by the hooks), the
session. Events therefore gather until the end of the transaction; one transaction changes at most one job that was
there before it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core import events_store
from baton.delegate.core import store as jobs
from baton.delegate.core.events_store import NewEvent
from baton.delegate.core.protocol import ACTIVE, DEFAULT_MODE, DELEGATED, ORCHESTRATOR, envelope, mode_update
from baton.delegate.core.store import Job
from baton.engine.text.masking import mask_json
from baton.kernel.base.sql import storable

MODE_ENTERED = "mode.entered"
MODE_LEFT = "mode.left"
"""Stand for mode updates until the session is locked; they are never stored."""
_TOLD = frozenset({"output", "error_detail", "progress", "late_result"})
"""What an agent said, by a job's columns: secrets in it are masked."""


class Work:
    """A transaction with the moment at which it began, on the database's clock."""

    def __init__(self, connection: AsyncConnection, now: datetime) -> None:
        self.connection = connection
        self.now = now
        self.topics: set[str] = set()
        self.ended: list[Job] = []
        self._events: list[NewEvent] = []
        self._changed: dict[str, dict[str, Any]] = {}
        self._latest: dict[str, Job] = {}

    def change(self, job: Job, **values: Any) -> Job:
        """Change a job that this transaction has locked or made; it is written with the events."""
        told = {name: mask_json(value) if name in _TOLD else value for name, value in values.items()}
        stored = {name: storable(value) if isinstance(value, str) else value for name, value in told.items()}
        self._changed.setdefault(job.id, {}).update(stored)
        self._latest[job.id] = job = msgspec.structs.replace(job, **stored)
        return job

    def tell(self, job: Job, kind: str, body: Mapping[str, Any], *, seq: int | None = None) -> None:
        """Add an event to a job and its session; secrets in it are masked."""
        self._events.append(NewEvent(job=job, attempt=job.attempt, type=kind, body=mask_json(dict(body)), seq=seq))
        self.topics |= {f"job {job.id}", f"session {job.user} {job.session_id}"}

    def say(self, job: Job, update: dict[str, Any]) -> None:
        """Add an update that the orchestrator makes."""
        self.tell(job, "session.update", envelope(update, source=ORCHESTRATOR, provider=job.provider))

    def pass_on(self, job: Job, update: dict[str, Any], seq: int) -> None:
        """Add an update of the delegated agent."""
        self.tell(job, "session.update", envelope(update, source=DELEGATED, provider=job.provider), seq=seq)

    def enter_mode(self, job: Job) -> None:
        """Put the session into the mode of a job's provider."""
        self.tell(job, MODE_ENTERED, {})

    def leave_mode(self, job: Job) -> None:
        """Give the session the mode of what still runs in it."""
        self.tell(job, MODE_LEFT, {})

    def wake_runners(self, job: Job) -> None:
        """Have the runners that may take a job look for it."""
        self.topics |= {f"runner {job.user}", f"team {job.team}"}

    async def save(self) -> None:
        """Write what has changed of jobs, for those who read them in this transaction."""
        changed, self._changed = self._changed, {}
        for job_id, values in changed.items():
            await jobs.change(self.connection, job_id, values)

    async def flush(self) -> None:
        """Number and store the events, and write the jobs; nothing may be locked after it."""
        waiting, self._events = self._events, []
        sessions = {(event.job.user, event.job.session_id): event.job for event in waiting}
        for key, job in sorted(sessions.items()):
            theirs = [event for event in waiting if (event.job.user, event.job.session_id) == key]
            session = await events_store.lock_session(self.connection, job)
            events, mode = await self._with_modes(theirs, session.agent_mode)
            for event in events:
                known = self._latest.get(event.job.id, event.job)
                event.no = known.next_no
                self.change(known, next_no=known.next_no + 1)
            await events_store.append(self.connection, job, events, session.next_no, mode, self.now)
        await self.save()

    async def _with_modes(self, waiting: list[NewEvent], mode: str) -> tuple[list[NewEvent], str]:
        """Put mode updates where the mode changes; give the mode that is left."""
        events: list[NewEvent] = []
        for event in waiting:
            if event.type not in {MODE_ENTERED, MODE_LEFT}:
                events.append(event)
                continue
            wanted = event.job.provider if event.type == MODE_ENTERED else await self._mode_left(event.job)
            if event.type == MODE_ENTERED or wanted != mode:
                event.type, mode = "session.update", wanted
                event.body = envelope(mode_update(wanted), source=ORCHESTRATOR, provider=event.job.provider)
                events.append(event)
        return events, mode

    def stored(self, job: Job) -> Job:
        """Give a job as it is after the flush."""
        return self._latest.get(job.id, job)

    async def _mode_left(self, job: Job) -> str:
        """Name the provider of what was delegated last and still goes on, or the mode of a session without any."""
        active = await jobs.active_of_session(self.connection, job)
        here = [one for one in self._latest.values() if (one.user, one.session_id) == (job.user, job.session_id)]
        found = {one.id: one for one in (*active, *here) if one.queued_at is not None}
        busy = [one for one in found.values() if one.state in ACTIVE]
        return max(busy, key=lambda one: (one.queued_at or self.now, one.id)).provider if busy else DEFAULT_MODE
