"""One transaction that changes jobs and adds events to their sessions.

A fixed lock order prevents deadlocks: a job, its graph (by the hooks of `JobStates.on_end`), the session. So events are
collected and stored at the end, and a transaction changes at most one existing job.
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
from baton.events.payloads import QuestionChanged
from baton.lib.text.masking import StreamTail, mask_chunk, mask_json
from baton.shared.storable import storable

MODE_ENTERED = "mode.entered"
MODE_LEFT = "mode.left"  # placeholders of mode updates until the session is locked. They are never stored.
_AGENT_TEXTS = frozenset({"output", "error_detail", "progress", "late_result"})  # an agent's text: secrets are masked


class JobTransaction:
    """A transaction, with its start by the database's clock.

    Attributes:
        topics: The topics to notify after the commit.
        ended: Jobs ended by this transaction. Dependent jobs advance after the commit.
        moved: Jobs with a changed state, each with the number of its event.
        questions: Opened or closed questions, each with its job.
        agents_changed: Whether an agent's token was created or revoked.
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
        """Change a job locked or created by this transaction. It is written together with the events."""
        if job.agent_digest and (state := values.get("state", job.state)) not in LEASED_STATES:
            self.agents_changed = True
            # A queued job's holder may still reclaim it, and then the agent continues.
            if state != "queued" or not values.get("digest", job.digest):
                values["agent_digest"] = ""  # the attempt and its agent's token have ended
        masked = {name: mask_json(value) if name in _AGENT_TEXTS else value for name, value in values.items()}
        stored = {name: storable(value) if isinstance(value, str) else value for name, value in masked.items()}
        self._changed.setdefault(job.id, {}).update(stored)
        self._latest[job.id] = job = msgspec.structs.replace(job, **stored)
        return job

    def add_event(self, job: Job, kind: str, body: Mapping[str, Any], *, seq: int | None = None) -> None:
        """Add an event to a job and its session, with secrets masked."""
        self._events.append(NewJobEvent(job=job, attempt=job.attempt, type=kind, body=mask_json(dict(body)), seq=seq))
        self.topics |= {f"job {job.id}", f"session {job.user} {job.session_id}"}

    def add_orchestrator_update(self, job: Job, update: dict[str, Any]) -> None:
        """Add an update of the orchestrator."""
        self.add_event(job, "session.update", envelope(update, source=ORCHESTRATOR, provider=job.provider))

    def add_agent_update(self, job: Job, update: dict[str, Any], seq: int) -> None:
        """Add an update of the agent. Secrets split across its chunks are masked too."""
        kind, content = update.get("sessionUpdate"), update.get("content")
        tails = self.latest(job).stream_tails or {}
        if kind == "tool_call":
            self.change(self.latest(job), stream_tails=None)  # the following chunks are a new text
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
        """Set the session's agent mode to that of its remaining leased jobs."""
        self.add_event(job, MODE_LEFT, {})

    def wake_runners(self, job: Job) -> None:
        """Wake the runners allowed to take a job."""
        self.topics |= {f"runner {job.user}", f"team {job.team}"}

    async def save(self) -> None:
        """Write the changed jobs, for hooks that read them in this transaction."""
        changed, self._changed = self._changed, {}
        for job_id, values in changed.items():
            await jobs.change(self.connection, job_id, values)

    async def flush(self) -> None:
        """Number and store the events, and write the jobs. Lock no row afterwards."""
        waiting, self._events = self._events, []
        sessions = {(event.job.user, event.job.session_id): event.job for event in waiting}
        for key, job in sorted(sessions.items()):  # sorted: all transactions lock sessions in the same order
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
        """Return the transaction's latest version of a job."""
        return self._latest.get(job.id, job)

    async def _with_mode_updates(self, waiting: list[NewJobEvent], mode: str) -> tuple[list[NewJobEvent], str]:
        """Replace the placeholders by mode updates where the mode changes. Also return the final mode."""
        events: list[NewJobEvent] = []
        for event in waiting:
            if event.type not in {MODE_ENTERED, MODE_LEFT}:
                events.append(event)
                continue
            wanted = event.job.provider if event.type == MODE_ENTERED else await self._remaining_mode(event.job)
            # A delegation always reports its mode, even an unchanged one: `/delegate` guarantees this order of events.
            if event.type == MODE_ENTERED or wanted != mode:
                event.type, mode = "session.update", wanted
                event.body = envelope(mode_update(wanted), source=ORCHESTRATOR, provider=event.job.provider)
                events.append(event)
        return events, mode

    async def _remaining_mode(self, job: Job) -> str:
        """Return the provider of the session's latest started leased job, or the default mode."""
        stored = await jobs.leased_of_session(self.connection, job)
        changed = [one for one in self._latest.values() if (one.user, one.session_id) == (job.user, job.session_id)]
        # Unwritten changes of this transaction override SQL.
        known = {one.id: one for one in (*stored, *changed)}
        leased = [one for one in known.values() if one.state in LEASED_STATES]
        # An unstarted job was leased last.
        return max(leased, key=lambda one: (one.started_at or self.now, one.id)).provider if leased else DEFAULT_MODE
