"""Jobs as HTTP shows them: to people, in full or in a list, and in a lease to a runner."""

from datetime import datetime
from typing import Any

import msgspec
from pydantic import BaseModel, Field, ValidationError

from baton.delegate.core.job import Job, JobEvent, State
from baton.delegate.core.waiting import Reason, Waiting

LONGEST_TITLE = 120


class JobErrorModel(BaseModel):
    """Why a job did not complete: a stable code, and a text."""

    code: str
    detail: str


class UsageModel(BaseModel):
    """Tokens that a job used, and what its agent says they cost; absent if it does not say.

    `cached_tokens` are those of the `input_tokens` that came from the model's cache.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class AttemptModel(UsageModel):
    """One attempt of a job. `state` is empty while it is under way, and `lost` if another attempt took the job over."""

    attempt: int
    runner: str
    began_at: datetime | None = None
    ended_at: datetime | None = None
    state: str
    error_code: str


class JobRunnerModel(BaseModel):
    """The runner that holds, or held, the job."""

    user: str
    id: str


class WaitingModel(BaseModel):
    """Why a queued job waits.

    `no_runner`: none is known; `runner_offline`: none that serves it is connected; `not_served`: none serves it;
    `slots_busy`: those that serve it have no free slot; `folder_busy`: another job works in place in its folder. The first
    three fail the job at `expires_at`; without it, it waits as long as it must.
    """

    reason: Reason
    detail: str
    since: datetime
    expires_at: datetime | None = None


class JobFields(BaseModel):
    """The fields of a job that both people and its runner see; what an agent is given belongs here."""

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
    """A delegated task in a list. `progress` is what its agent did last; `events` counts its events.

    `disconnected_since` is when its runner was last heard of, absent while it is in touch; the runner may come back.
    `waiting_for` is `disk` while the runner's disk takes nothing, since `waiting_since`.
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
    waiting: WaitingModel | None = None
    waiting_for: str | None = None
    waiting_since: datetime | None = None

    @classmethod
    def of(cls, job: Job, waiting: Waiting | None = None) -> "JobSummary":
        """Return the summary of a job, and why it waits."""
        return cls.model_validate(_fields(job) | {"waiting": waiting and msgspec.to_builtins(waiting)})


class JobModel(JobFields, JobSummary):
    """A delegated task in full, with its newest attempts. `late_result` is the end that an attempt sent when it was over already, as another had taken over."""

    description: str
    approval: str
    concurrent: bool
    queue_expiry_s: int
    depends_on: list[str]
    thinking_budget: int | None = None
    lease_until: datetime | None = None
    late_result: dict[str, object] | None = None
    attempts: list[AttemptModel] = []

    @classmethod
    def of(cls, job: Job, waiting: Waiting | None = None) -> "JobModel":
        """Return a job in full, and why it waits."""
        return cls.model_validate(_fields(job) | {"waiting": waiting and msgspec.to_builtins(waiting)})


class LeaseModel(JobFields):
    """A job that is leased to a runner; the token proves it.

    `agent_token` is for the agent: it may ask Baton with it and read this job, until the attempt is over. `recap` is a
    summary of the thread that the job continues, for an agent that cannot resume `agent_session`.
    """

    job: str
    attempt: int
    token: str
    agent_token: str
    recap: str
    traceparent: str = Field("", description="The trace and the span of this attempt, for the agent's environment.")

    @classmethod
    def of(
        cls, job: Job, *, token: str, agent_session: str, agent_token: str, recap: str, traceparent: str
    ) -> "LeaseModel":
        """Return a lease for its runner; `agent_session` is the agent's session to resume, "" for a new one."""
        more = {"job": job.id, "token": token, "agent_session": agent_session, "agent_token": agent_token}
        return cls.model_validate(_fields(job) | more | {"recap": recap, "traceparent": traceparent})


class JobPage(BaseModel):
    """A page of jobs, the newest first; `next_cursor` is absent on the last page."""

    items: list[JobSummary]
    next_cursor: str | None = None


class ChangedFileModel(BaseModel):
    """A file that a job changed; `added` and `deleted` count lines and are absent for a binary file. `mode` is git's."""

    path: str
    change: str
    added: int | None = None
    deleted: int | None = None
    mode: str


class ChangeModel(BaseModel):
    """What a job changed in its worktree: `changed` files, the first hundred of them, and the difference.

    The difference is `truncated` after 96 KiB; the whole of it is on the machine of the job's runner. `notes` name
    files that git could not add. A job that has no worktree, or has not ended, has no attempt and no files.
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
    def of(cls, job: Job, event: JobEvent | None) -> "ChangeModel":
        """Return what an event of a job says; what a runner of another version sent otherwise is left out."""
        body: dict[str, Any] = {} if event is None else event.body
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
