"""Jobs in responses: in full, in a list, and in a lease for a runner."""

from datetime import datetime
from typing import Any, Self

import msgspec
from pydantic import BaseModel, Field, ValidationError

from baton.delegate.core.job import Job, JobEvent, State
from baton.delegate.core.waiting import Waiting
from baton.kernel.http.fields import Shown

LONGEST_TITLE = 120


class JobErrorModel(BaseModel):
    """Why a job did not complete: a stable code and a message."""

    code: str
    detail: str


class UsageModel(BaseModel):
    """A job's tokens, and its cost if the agent reports it. `cached_tokens` are part of `input_tokens`."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class AttemptModel(UsageModel):
    """One attempt of a job. `state` is empty while it runs, `lost` if another attempt took over the job."""

    attempt: int
    runner: str
    began_at: datetime | None = None
    ended_at: datetime | None = None
    state: str
    error_code: str


class JobRunnerModel(BaseModel):
    """The current or last runner of the job."""

    user: str
    id: str


class JobFields(BaseModel):
    """The fields of a job for people and for its runner, including the agent's input."""

    session_id: str
    provider: str
    workspace: str
    isolation: str
    prompt: str
    system_prompt: str
    model: str
    thinking_budget: int | None
    timeout_s: int
    inactivity_timeout_s: int
    thread: str
    agent_session: str
    agent_type: str


class JobSummary(BaseModel):
    """A delegated task in a list. `progress` is the agent's latest step; `events` counts its events.

    `disconnected_since` is the last contact with a disconnected runner, which may come back. `waiting_for` is `disk`
    while the runner's disk is full, since `waiting_since`.
    """

    id: str
    user: str
    team: str
    session_id: str
    provider: str
    workspace: str
    title: str
    state: State
    cancel_requested: bool
    attempt: int
    max_attempts: int
    progress: str
    events: int
    graph_id: str
    task: str
    agent_type: str
    tier: str
    usage: UsageModel
    error: JobErrorModel | None = None
    runner: JobRunnerModel | None = None
    created_at: datetime
    queued_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    disconnected_since: datetime | None = None
    waiting: Shown[Waiting] | None = None
    waiting_for: str | None = None
    waiting_since: datetime | None = None

    @classmethod
    def build(cls, job: Job, waiting: Waiting | None = None) -> Self:
        """Convert a job and its wait reason."""
        return cls.model_validate(_fields(job) | {"waiting": waiting and msgspec.to_builtins(waiting)})


class JobModel(JobFields, JobSummary):
    """A delegated task in full. `late_result` is the result of an attempt that was already replaced."""

    description: str
    approval: str
    concurrent: bool
    queue_expiry_s: int
    depends_on: list[str]
    thinking_budget: int | None = None
    lease_until: datetime | None = None
    late_result: dict[str, object] | None = None
    attempts: list[AttemptModel] = []


class LeaseModel(JobFields):
    """A job leased to a runner, proven by the token.

    `agent_token` lets the agent call Baton and read this job until the attempt ends. `recap` summarizes the continued
    thread, for an agent that cannot resume `agent_session`.
    """

    job: str
    attempt: int
    token: str
    agent_token: str
    recap: str
    traceparent: str = Field("", description="The trace and the span of this attempt, for the agent's environment.")

    @classmethod
    def build(
        cls, job: Job, *, token: str, agent_session: str, agent_token: str, recap: str, traceparent: str
    ) -> "LeaseModel":
        """Return a lease for its runner. `agent_session` is the agent's session to resume, or ""."""
        more = {"job": job.id, "token": token, "agent_session": agent_session, "agent_token": agent_token}
        return cls.model_validate(_fields(job) | more | {"recap": recap, "traceparent": traceparent})


class JobPage(BaseModel):
    """A page of jobs, newest first. `next_cursor` is absent on the last page."""

    items: list[JobSummary]
    next_cursor: str | None = None


class ChangedFileModel(BaseModel):
    """A changed file. `added` and `deleted` count lines, and are absent for binary files. `mode` is git's."""

    path: str
    change: str
    added: int | None = None
    deleted: int | None = None
    mode: str


class ChangeModel(BaseModel):
    """The changes in a job's worktree: the number of `changed` files, the first hundred, and the diff.

    The diff is `truncated` after 96 KiB; the runner's machine has all of it. `notes` name files that git could not add.
    Without a worktree or before the job's end, `attempt` and `files` are missing. For a job that failed earlier,
    `notes` explain why.
    """

    job: str
    state: State
    attempt: int | None = None
    changed: int = 0
    files: list[ChangedFileModel] = []
    diff: str = ""
    truncated: bool = False
    notes: list[str] = []

    @classmethod
    def build(cls, job: Job, event: JobEvent | None) -> "ChangeModel":
        """Convert a job's event. Ignore fields of unknown types from other runner versions."""
        failed = [job.error_detail] if job.error_detail else []
        body: dict[str, Any] = {"notes": failed} if event is None else event.body
        shapes = {"diff": str, "truncated": bool, "changed": int, "files": list, "notes": list}
        known = {name: body[name] for name, shape in shapes.items() if isinstance(body.get(name), shape)}
        try:
            return cls(job=job.id, state=job.state, attempt=event.attempt if event else None, **known)
        except ValidationError:
            return cls(
                job=job.id, state=job.state, attempt=event.attempt if event else None, diff=known.get("diff", "")
            )


def title_of(description: str, prompt: str) -> str:
    """Return a job's title: its description, or the first line of its prompt."""
    return (description or prompt.strip().split("\n", 1)[0])[:LONGEST_TITLE]


def _fields(job: Job) -> dict[str, object]:
    fields = {name: getattr(job, name) for name in job.__struct_fields__}
    return fields | {
        "title": title_of(job.description, job.prompt),
        "events": job.next_no - 1,
        "depends_on": list(job.depends_on),
        "usage": {name: fields[name] for name in UsageModel.model_fields},
        "waiting_for": job.waiting_for or None,
        "error": {"code": job.error_code, "detail": job.error_detail} if job.error_code else None,
        "runner": {"user": job.runner_user, "id": job.runner_id} if job.runner_id else None,
    }
