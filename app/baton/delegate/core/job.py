"""A job and its parts. `JobSpec` is the core: every other form of a job takes its fields from it.

- `Job` adds the server's fields; the columns of the table `jobs` derive from it (`tables`).
- `JobFields` in `delegate.jobs.bodies` are the fields shown by HTTP, to people and to the runner.
- `AgentTask` in `runner.wire`, which shares no code with the server, has the runner's fields for the agent.
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
LEASED_STATES: tuple[State, ...] = ("leased", "running", "awaiting_permission")  # the agent mode is then the provider
ACTIVE_STATES: tuple[State, ...] = ("queued", *LEASED_STATES)  # states shown in the session as an open tool call
ENDED_STATES: tuple[State, ...] = ("completed", "failed", "cancelled", "skipped")


CONTINUE = "continue"  # resume the agent's thread of the session's previous job, if its runner still has it
FRESH = "fresh"  # start a new thread


class JobArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Execution options of a job, with the same names for every way to delegate.

    None means the server's default (`new_job.JobDefaults`); a `Job` has no None here.

    Attributes:
        workspace: An alias of the runner, "" for its first one.
        isolation: `in_place` or `worktree`.
        model: The agent's model, "" for its default.
        timeout_s: Timeout from the agent's start, in seconds.
        inactivity_timeout_s: Timeout without output, in seconds; 0 for no limit.
        thread: `continue`, `fresh`, or the id of an ended job to resume on its runner.
        concurrent: Whether it may work in place while another job uses the folder.
        queue_expiry_s: Maximum wait without a live runner, in seconds; 0 for no limit.
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
    """The task of a job. Immutable.

    `session_id` is the delegating session; without one, the job gets its own session, named after the job. `tier` is
    CHEAP, MEDIUM, EXPENSIVE or "". `thinking_budget` is in tokens, None for the agent's default.
    """

    # All of these fields go into an idempotency key's digest (`new_job.digest_of`).
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
    """One delegated task: its specification, owner and status.

    Attributes:
        digest: SHA-256 of the lease's token, "" once the lease is void.
        agent_digest: SHA-256 of the agent's token, "" while the job is not leased.
        disconnected_since: Last contact with the holder, None while it is connected.
        thread_user: Owner of the only runner with the thread's agent, "" for any runner.
        thread_runner: The id of that runner.
        folder: The folder used in place by the holder, as named by its runner (`Poll.folders`), or "".
        expires_at: When a queued job fails without a live runner; None for never.
        last_seq: Number of the last event from this attempt's runner.
        next_no: Number of the job's next event.
        cached_tokens: Input tokens read from the model's cache.
        cost_usd: Cost as reported by the agent, or None.
        attempts: All attempts (`core.attempts`).
        waiting_for: The reason why the runner is blocked, `disk` or "".
        traceparent: The trace and span of its request, or "".
        stream_tails: The masked end of each of the agent's streams of chunks (`lib.text.chunks`).
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
    """A filter for jobs. All set fields must match. `since` is inclusive, `until` exclusive."""

    user: str = ""
    session_id: str = ""
    state: str = ""
    provider: str = ""
    graph_id: str = ""
    workspace: str = ""
    since: datetime | None = None
    until: datetime | None = None


class JobEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One stored event, with its numbers in job, session and attempt (`seq`, None for the server's events)."""

    job_id: str
    no: int
    session_no: int
    attempt: int
    seq: int | None
    type: str
    body: dict[str, Any]
    at: datetime


class NewJobEvent(msgspec.Struct, kw_only=True):
    """One event before storage. `no` is set once the session is locked."""

    job: Job
    attempt: int
    type: str
    body: dict[str, Any]
    seq: int | None = None
    no: int = 0


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that runs jobs. `slots` (free) and `active` (leased) are those of its last poll."""

    organisation: str
    user: str
    id: str
    team: str
    boot_id: str
    name: str
    version: str
    providers: tuple[str, ...]
    workspaces: tuple[str, ...]
    # The folder name of each workspace. Runners of one machine use the same name for one folder, and a folder's name is a
    # prefix of its subfolders' names (`baton.runner.template`).
    folders: dict[str, str]
    slots: int
    active: int
    shared: bool
    last_seen: datetime


class RunnerCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command for a runner, repeated in every answer until acknowledged.

    It must `cancel` a job, take the answer to a `permission` request, or process a `result`.
    """

    id: str
    job: str
    attempt: int
    kind: str
    body: dict[str, Any]
