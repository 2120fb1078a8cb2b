"""`/jobs`: list, show, cancel, approve and retry jobs; a session's agent mode."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field

from baton.delegate.core.job import Job, JobFilter, State
from baton.delegate.jobs.arguments import AgentMode, AgentModes
from baton.delegate.jobs.bodies import ChangeModel, JobModel, JobPage, JobSummary
from baton.delegate.jobs.control import JobControl
from baton.delegate.jobs.service import Jobs
from baton.kernel.http.features import of
from baton.kernel.http.fields import Moment, Shown
from baton.kernel.http.paging import Text, after, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE, WORK

router = APIRouter(tags=["jobs"])
AgentModesOf = Annotated[AgentModes, Depends(of(AgentModes))]
JobControlOf = Annotated[JobControl, Depends(of(JobControl))]
JobsOf = Annotated[Jobs, Depends(of(Jobs))]
JobId = Annotated[str, Path(max_length=200)]
LONGEST_WAIT_S = 8.0  # maximum wait of one request for a job's progress, in seconds
FilterText = Annotated[str, Field(max_length=1_024)]


class JobsQuery(BaseModel):
    """Filter and page of jobs."""

    user: FilterText = ""
    session_id: FilterText = ""
    state: State | Literal[""] = ""
    provider: FilterText = ""
    workspace: FilterText = ""
    graph: FilterText = ""
    since: Moment | None = None
    until: Moment | None = None
    cursor: str = Field("", max_length=4_096, description="`next_cursor` of the page before.")
    limit: int = Field(50, ge=1, le=200)

    def filter(self) -> JobFilter:
        """Return the filter without the page."""
        fields = self.model_dump(exclude={"graph", "cursor", "limit"})
        return JobFilter(**fields, graph_id=self.graph)


class OutputModel(BaseModel):
    """The agent's answer so far."""

    job: str
    state: State
    output: str


@router.get("/jobs", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_jobs(caller: CallerOf, jobs: JobsOf, query: Annotated[JobsQuery, Query()]) -> JobPage:
    """List jobs, newest first."""
    before = after(query.cursor, 2)
    found = await jobs.find(caller.principal, query.filter(), before=before, limit=query.limit + 1)
    items, next_cursor = page(found, query.limit, lambda job: (job.created_at.isoformat(), job.id))
    waiting = await jobs.waiting(items)
    return JobPage(items=[JobSummary.build(job, waiting.get(job.id)) for job in items], next_cursor=next_cursor)


@router.get("/jobs/{job_id}", response_model_exclude_none=True)
async def get_job(
    caller: CallerOf,
    jobs: JobsOf,
    job_id: JobId,
    wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="How long to wait for its end.")] = 0,
    after: Annotated[
        int, Query(ge=0, le=2**31 - 1, description="With `wait_s`: wait only until it has more `events` than this.")
    ] = 2**31 - 1,
) -> JobModel:
    """Show a job, or wait for its progress without polling."""
    return await _shown(jobs, await jobs.news(caller.principal, job_id, after, wait_s))


@router.get("/jobs/{job_id}/output", response_model_exclude_none=True)
async def get_job_output(caller: CallerOf, jobs: JobsOf, job_id: JobId) -> OutputModel:
    """Show the agent's answer so far."""
    job = await jobs.get(caller.principal, job_id)
    return OutputModel(job=job.id, state=job.state, output=await jobs.output(caller.principal, job_id))


@router.get("/jobs/{job_id}/diff", response_model_exclude_none=True)
async def get_job_diff(caller: CallerOf, jobs: JobsOf, job_id: JobId) -> ChangeModel:
    """Show the changes in a job's worktree. They can be applied on its runner's machine."""
    return ChangeModel.build(*await jobs.change(caller.principal, job_id))


@router.post("/jobs/{job_id}/cancel", response_model_exclude_none=True, dependencies=[WORK])
async def cancel_job(caller: CallerOf, control: JobControlOf, job_id: JobId) -> JobModel:
    """Cancel a job: at once without a runner, else through its runner."""
    return JobModel.build(await control.cancel(caller.principal, job_id))


@router.post("/jobs/{job_id}/approve", response_model_exclude_none=True, dependencies=[WORK])
async def approve_job(caller: CallerOf, control: JobControlOf, jobs: JobsOf, job_id: JobId) -> JobModel:
    """Approve a job."""
    return await _shown(jobs, await control.approve(caller.principal, job_id))


@router.post("/jobs/{job_id}/retry", response_model_exclude_none=True, dependencies=[WORK])
async def retry_job(caller: CallerOf, control: JobControlOf, jobs: JobsOf, job_id: JobId) -> JobModel:
    """Retry a failed, cancelled or skipped job."""
    return await _shown(jobs, await control.retry(caller.principal, job_id))


@router.get("/sessions/{session_id}/agent-mode")
async def get_agent_mode(
    caller: CallerOf, agent_modes: AgentModesOf, session_id: Annotated[str, Path(max_length=1_024)], user: Text = ""
) -> Shown[AgentMode]:
    """Show a session's delegated agent. The orchestrator mode is at `/mode`."""
    return await agent_modes.get(caller.principal, session_id, user)


async def _shown(jobs: Jobs, job: Job) -> JobModel:
    return JobModel.build(job, (await jobs.waiting([job])).get(job.id))
