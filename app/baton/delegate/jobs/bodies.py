"""Jobs as the API shows them. It serves no path."""

from datetime import datetime

from pydantic import BaseModel

from baton.delegate.core.protocol import State
from baton.delegate.core.store import Job

LONGEST_TITLE = 120


class JobErrorModel(BaseModel):
    """Why a job did not complete: a stable code, and words."""

    code: str
    detail: str


class UsageModel(BaseModel):
    """Tokens that a job took, and what its agent says they cost, absent where it does not say."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class JobRunnerModel(BaseModel):
    """Which runner has, or had, the job."""

    user: str
    id: str


class JobSummary(BaseModel):
    """A delegated task as a list shows it. `progress` is what its agent was at last; `events` counts what it told."""

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

    @classmethod
    def of(cls, job: Job) -> "JobSummary":
        """Show a job as the API does."""
        return cls.model_validate(_fields(job))


class JobModel(JobSummary):
    """A delegated task in full. `late_result` is what its runner said after its lease was over."""

    prompt: str
    description: str
    approval: str
    isolation: str
    depends_on: list[str]
    model: str
    system_prompt: str
    thinking_budget: int | None = None
    agent_session: str
    timeout_s: int
    lease_until: datetime | None = None
    late_result: dict[str, object] | None = None

    @classmethod
    def of(cls, job: Job) -> "JobModel":
        """Show a job as the API does."""
        return cls.model_validate(_fields(job))


class JobPage(BaseModel):
    """A page of jobs, the newest first; `next_cursor` is absent on the last one."""

    items: list[JobSummary]
    next_cursor: str | None = None


def _fields(job: Job) -> dict[str, object]:
    fields = {name: getattr(job, name) for name in job.__struct_fields__}
    title = job.description or job.prompt.strip().split("\n", 1)[0]
    return fields | {
        "title": title[:LONGEST_TITLE],
        "events": job.next_no - 1,
        "depends_on": list(job.depends_on),
        "usage": {name: fields[name] for name in ("input_tokens", "output_tokens", "cost_usd")},
        "error": {"code": job.error_code, "detail": job.error_detail} if job.error_code else None,
        "runner": {"user": job.runner_user, "id": job.runner_id} if job.runner_id else None,
    }
