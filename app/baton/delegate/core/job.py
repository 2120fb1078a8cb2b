"""A job and what belongs to it. `JobSpec` is the core: every other shape of a job takes its fields from there.

- `Job` adds what the server knows of the job; the columns of the table `jobs` are made from it (`tables`).
- `JobFields` in `delegate.jobs.bodies` holds what HTTP shows of it, to people and in a lease to the runner.
- `AgentTask` in `runner.wire`, which shares no code with the server, holds what the runner passes to the agent.
"""

from datetime import datetime
from typing import Any, Literal

import msgspec

from baton.shared.providers import PROVIDERS

State = Literal[
    "pending_approval",
    "blocked",
    "queued",
    "leased",
    "running",
    "awaiting_permission",
    "completed",
    "failed",
    "cancelled",
    "skipped",
]
STATES: tuple[State, ...] = State.__args__  # type: ignore[attr-defined] # typing's Literal has them
LEASED_STATES: tuple[State, ...] = ("leased", "running", "awaiting_permission")
"""States in which a runner holds the job's lease, and the session's agent mode is the job's provider."""
ACTIVE_STATES: tuple[State, ...] = ("queued", *LEASED_STATES)
"""States of a job that its session shows as an open tool call."""
ENDED_STATES: tuple[State, ...] = ("completed", "failed", "cancelled", "skipped")


CONTINUE = "continue"
"""A job goes on with the agent's thread of the session's job before, where its runner still has it."""
FRESH = "fresh"
"""A job begins a thread of its own."""


class JobArguments(msgspec.Struct, frozen=True, kw_only=True):
    """How a job is to be run: the arguments that every way to delegate takes, by the same names.

    None stands for the server's default (`new_job.JobDefaults`); in a `Job` it has been replaced.

    Attributes:
        workspace: An alias that a runner knows, "" for the runner's first one.
        isolation: `in_place` or `worktree`.
        model: The agent's model, "" for its own default.
        timeout_s: Seconds from when the agent starts.
        inactivity_timeout_s: Seconds in which the agent may show nothing; 0 for no limit.
        thread: `continue`, `fresh`, or the id of an ended job whose agent's thread is continued, on its runner.
        concurrent: Whether it may work in place beside another job in the same folder.
        queue_expiry_s: Seconds that it may wait without a live runner; 0 for no limit.
    """

    workspace: str = ""
    isolation: str = "in_place"
    model: str = ""
    timeout_s: int | None = None
    inactivity_timeout_s: int | None = None
    thread: str = CONTINUE
    concurrent: bool = False
    queue_expiry_s: int | None = None


class JobSpec(JobArguments, frozen=True, kw_only=True):
    """What a job is to do; set when it is made, and never changed.

    Attributes:
        session_id: The session that delegates; a job without one gets a session of its own, named like the job.
        tier: CHEAP, MEDIUM, EXPENSIVE, or "" for unknown.
        thinking_budget: In tokens, None for the agent's own.
    """

    # An idempotency key's digest is made of all these fields (`new_job.digest_of`).
    prompt: str
    provider: str = PROVIDERS[0]
    description: str = ""
    session_id: str = ""
    project: str = ""
    approval: str = "none"
    depends_on: tuple[str, ...] = ()
    max_attempts: int = 1
    graph_id: str = ""
    task: str = ""
    agent_type: str = ""
    tier: str = ""
    system_prompt: str = ""
    thinking_budget: int | None = None


class Job(JobSpec, frozen=True, kw_only=True):
    """One delegated task: what it is to do, whose it is, and how it stands.

    Attributes:
        digest: SHA-256 of the lease's token, "" once the runner's word no longer counts.
        agent_digest: SHA-256 of the agent's token, "" while the job is not leased.
        disconnected_since: When the runner that holds the job was last heard of, None while it is in touch.
        thread_user: The owner of the one runner that may run the job, as it has the thread's agent; "" for any runner.
        thread_runner: The id of that runner.
        folder: The folder in which the holder works in place, as its runner named it (`Poll.folders`), "" for none.
        expires_at: When a queued job fails if no live runner could take it until then; None for never.
        last_seq: Number of the last event that the runner of this attempt sent.
        next_no: Number of the job's next event.
        cached_tokens: Those of the input tokens that came from the model's cache.
        cost_usd: What the agent said it cost, None if it did not say.
        attempts: An account of each attempt (`core.attempts`).
        waiting_for: What keeps the job's runner from going on, `disk` or "".
        traceparent: The trace and the span that the request for it came with, "" for none.
        stream_tails: How each of the agent's streams of chunks ended so far, masked (`engine.text.chunks`).
    """

    timeout_s: int
    inactivity_timeout_s: int
    queue_expiry_s: int
    id: str
    organisation: str
    user: str
    team: str
    state: State
    cancel_requested: bool = False
    cancel_at: datetime | None = None
    attempt: int = 0
    digest: str = ""
    lease_until: datetime | None = None
    runner_user: str = ""
    runner_id: str = ""
    boot_id: str = ""
    last_seq: int = 0
    agent_session: str = ""
    next_no: int = 1
    progress: str = ""
    output: str = ""
    error_code: str = ""
    error_detail: str = ""
    late_result: dict[str, Any] | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    created_at: datetime
    queued_at: datetime | None = None
    started_at: datetime | None = None
    deadline: datetime | None = None
    ended_at: datetime | None = None
    idempotency_key: str | None = None
    idempotency_digest: str = ""
    agent_digest: str = ""
    stream_tails: dict[str, Any] | None = None
    disconnected_since: datetime | None = None
    traceparent: str = ""
    thread_user: str = ""
    thread_runner: str = ""
    folder: str = ""
    expires_at: datetime | None = None
    waiting_for: str = ""
    waiting_since: datetime | None = None
    cached_tokens: int = 0
    attempts: tuple[dict[str, Any], ...] = ()


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to find; all fields that are set must match. `since` is included, `until` is not."""

    user: str = ""
    session_id: str = ""
    state: str = ""
    provider: str = ""
    graph_id: str = ""
    workspace: str = ""
    since: datetime | None = None
    until: datetime | None = None


class JobEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One stored event of a job.

    Attributes:
        no: Its number within the job.
        session_no: Its number within the session.
        seq: The runner's own number of it within the attempt, None for the server's own events.
    """

    job_id: str
    no: int
    session_no: int
    attempt: int
    seq: int | None
    type: str
    body: dict[str, Any]
    at: datetime


class NewJobEvent(msgspec.Struct, kw_only=True):
    """One event that is not stored yet; `no` is set once the session is locked."""

    job: Job
    attempt: int
    type: str
    body: dict[str, Any]
    seq: int | None = None
    no: int = 0


class JobPermission(msgspec.Struct, frozen=True, kw_only=True):
    """One permission request of an agent. `decided_by` is policy, user, timeout or end, "" while it is pending.

    `reading` is a `core.call_reading.CallReading` as JSON, empty for requests that a person was not asked.
    """

    id: str
    organisation: str
    user: str
    job_id: str
    attempt: int
    request: dict[str, Any]
    state: str = "pending"
    decided_by: str = ""
    decided_user: str = ""
    decision_id: str = ""
    reason: str = ""
    created_at: datetime
    deadline: datetime
    decided_at: datetime | None = None
    reading: dict[str, Any] = {}


class PendingQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A request that waits for a person, and what of its job says who asks and where.

    `description` and `prompt` are the job's; of the prompt only the beginning.
    """

    permission: JobPermission
    team: str
    session_id: str
    project: str
    workspace: str
    provider: str
    agent_type: str
    runner_user: str
    description: str
    prompt: str
