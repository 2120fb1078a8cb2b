"""One transaction that changes jobs and adds events to their sessions.

Locks are taken in one order, so that two transactions never wait for each other: a job, its graph (by the hooks of
`JobStates.on_end`), the session. Events are therefore gathered and stored at the end, and a transaction changes at most
one job that was there before it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import LEASED_STATES, Job, NewJobEvent
from baton.delegate.core.protocol import CHUNKS, DEFAULT_MODE, DELEGATED, ORCHESTRATOR, envelope, mode_update
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs
from baton.engine.text.chunks import StreamTail, mask_chunk
from baton.engine.text.masking import mask_json
from baton.events.payloads.tools import QuestionChanged
from baton.kernel.base.storable import storable

MODE_ENTERED = "mode.entered"
MODE_LEFT = "mode.left"
"""Placeholders of mode updates until the session is locked; they are never stored."""
_AGENT_TEXTS = frozenset({"output", "error_detail", "progress", "late_result"})
"""Columns of a job that hold an agent's words: secrets in them are masked."""


class JobTransaction:
    """A transaction, with the moment at which it began by the database's clock.

    Attributes:
        topics: What the notifier is to announce after the commit.
        ended: Jobs that this transaction ended; what waits for them goes on after the commit.
        moved: Jobs whose state this transaction changed, each as it was then, with the number of the event that says so.
        questions: Questions that it opened or ended, each with its job.
        agents_changed: Whether an agent's token was made or is over.
    """

    def __init__(self, connection: AsyncConnection, now: datetime) -> None:
        self.connection = connection
        self.now = now
        self.topics: set[str] = set()
        self.ended: list[Job] = []
        self.moved: list[tuple[Job, int]] = []
        self.questions: list[tuple[Job, QuestionChanged]] = []
        self.agents_changed = False
        self._events: list[NewJobEvent] = []
        self._changed: dict[str, dict[str, Any]] = {}
        self._latest: dict[str, Job] = {}

    def change(self, job: Job, **values: Any) -> Job:
        """Change a job that this transaction has locked or made; it is written when the events are."""
        if job.agent_digest and (state := values.get("state", job.state)) not in LEASED_STATES:
            self.agents_changed = True
            # The holder of a queued job may still take it back, and then the agent goes on.
            if state != "queued" or not values.get("digest", job.digest):
                values["agent_digest"] = ""  # the attempt is over, and its agent's token with it
        masked = {name: mask_json(value) if name in _AGENT_TEXTS else value for name, value in values.items()}
        stored = {name: storable(value) if isinstance(value, str) else value for name, value in masked.items()}
        self._changed.setdefault(job.id, {}).update(stored)
        self._latest[job.id] = job = msgspec.structs.replace(job, **stored)
        return job

    def add_event(self, job: Job, kind: str, body: Mapping[str, Any], *, seq: int | None = None) -> None:
        """Add an event to a job and its session; secrets in it are masked."""
        self._events.append(NewJobEvent(job=job, attempt=job.attempt, type=kind, body=mask_json(dict(body)), seq=seq))
        self.topics |= {f"job {job.id}", f"session {job.user} {job.session_id}"}

    def add_orchestrator_update(self, job: Job, update: dict[str, Any]) -> None:
        """Add an update that the orchestrator makes."""
        self.add_event(job, "session.update", envelope(update, source=ORCHESTRATOR, provider=job.provider))

    def add_agent_update(self, job: Job, update: dict[str, Any], seq: int) -> None:
        """Add an update of the delegated agent; secrets that are split across its chunks are masked too."""
        kind, content = update.get("sessionUpdate"), update.get("content")
        tails = self.latest(job).stream_tails or {}
        if kind == "tool_call":
            self.change(self.latest(job), stream_tails=None)  # what is said behind it is another text
        elif kind in CHUNKS and isinstance(content, dict) and isinstance(content.get("text"), str):
            stream = f"{kind} {job.attempt}"
            text, tail = mask_chunk(msgspec.convert(tails.get(stream, {}), StreamTail), content["text"])
            update = update | {"content": content | {"text": text}}
            self.change(self.latest(job), stream_tails=tails | {stream: msgspec.to_builtins(tail)})
        self.add_event(job, "session.update", envelope(update, source=DELEGATED, provider=job.provider), seq=seq)

    def enter_mode(self, job: Job) -> None:
        """Set the session's agent mode to the job's provider."""
        self.add_event(job, MODE_ENTERED, {})

    def leave_mode(self, job: Job) -> None:
        """Set the session's agent mode to what runners still have of it."""
        self.add_event(job, MODE_LEFT, {})

    def wake_runners(self, job: Job) -> None:
        """Wake the runners that may take a job."""
        self.topics |= {f"runner {job.user}", f"team {job.team}"}

    async def save(self) -> None:
        """Write the changes of jobs, for hooks that read them in this transaction."""
        changed, self._changed = self._changed, {}
        for job_id, values in changed.items():
            await jobs.change(self.connection, job_id, values)

    async def flush(self) -> None:
        """Number and store the events, and write the jobs. No row may be locked after it."""
        waiting, self._events = self._events, []
        sessions = {(event.job.user, event.job.session_id): event.job for event in waiting}
        for key, job in sorted(sessions.items()):  # sorted: two transactions lock two sessions in the same order
            of_session = [event for event in waiting if (event.job.user, event.job.session_id) == key]
            session = await events_store.lock_session(self.connection, job)
            events, mode = await self._with_mode_updates(of_session, session.agent_mode)
            for event in events:
                latest = self._latest.get(event.job.id, event.job)
                event.no = latest.next_no
                if event.type == "job.state":
                    self.moved.append((event.job, event.no))
                self.change(latest, next_no=latest.next_no + 1)
            await events_store.append(self.connection, job, events, session.next_no, mode, self.now)
        await self.save()

    def latest(self, job: Job) -> Job:
        """Return a job as this transaction has left it."""
        return self._latest.get(job.id, job)

    async def _with_mode_updates(self, waiting: list[NewJobEvent], mode: str) -> tuple[list[NewJobEvent], str]:
        """Turn the placeholders into mode updates where the mode changes; return the mode at the end, too."""
        events: list[NewJobEvent] = []
        for event in waiting:
            if event.type not in {MODE_ENTERED, MODE_LEFT}:
                events.append(event)
                continue
            wanted = event.job.provider if event.type == MODE_ENTERED else await self._remaining_mode(event.job)
            # A delegation always says its mode, even if it stays the same: `/delegate` promises that order of events.
            if event.type == MODE_ENTERED or wanted != mode:
                event.type, mode = "session.update", wanted
                event.body = envelope(mode_update(wanted), source=ORCHESTRATOR, provider=event.job.provider)
                events.append(event)
        return events, mode

    async def _remaining_mode(self, job: Job) -> str:
        """Return the provider of the session's leased job that was started last, or the default mode."""
        stored = await jobs.leased_of_session(self.connection, job)
        changed = [one for one in self._latest.values() if (one.user, one.session_id) == (job.user, job.session_id)]
        # What this transaction changed is not written yet, so it replaces what SQL says.
        known = {one.id: one for one in (*stored, *changed)}
        leased = [one for one in known.values() if one.state in LEASED_STATES]
        # One that has not begun yet was leased last.
        return max(leased, key=lambda one: (one.started_at or self.now, one.id)).provider if leased else DEFAULT_MODE
