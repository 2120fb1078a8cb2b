"""`/jobs`: delegated tasks listed, looked into, cancelled, approved, tried again. It streams none: `job_stream` does."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel

from baton.delegate.core.protocol import State
from baton.delegate.jobs.active_agent import AgentModes
from baton.delegate.jobs.bodies import JobModel, JobPage, JobSummary
from baton.delegate.jobs.control import JobControl
from baton.delegate.jobs.service import JobFilter, Jobs
from baton.kernel.http.features import of
from baton.kernel.http.moments import Moment
from baton.kernel.http.paging import Cursor, Limit, Text, after, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE, WORK

router = APIRouter(tags=["jobs"])
AgentModesOf = Annotated[AgentModes, Depends(of(AgentModes))]
JobControlOf = Annotated[JobControl, Depends(of(JobControl))]
JobsOf = Annotated[Jobs, Depends(of(Jobs))]
JobId = Annotated[str, Path(max_length=200)]


class OutputModel(BaseModel):
    """What the agent answered, so far where it is still at work."""

    job: str
    state: State
    output: str


class AgentModeModel(BaseModel):
    """The agent that a session is handed to, `default_mode` for none; `provider` is the one that spoke last."""

    session_id: str
    user: str
    agent_mode: str
    provider: str


@router.get("/jobs", operation_id="list_jobs", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_jobs(
    caller: CallerOf,
    jobs: JobsOf,
    user: Text = "",
    session_id: Text = "",
    state: Annotated[State | Literal[""], Query()] = "",
    provider: Text = "",
    workspace: Text = "",
    graph: Text = "",
    since: Moment | None = None,
    until: Moment | None = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> JobPage:
    """List jobs, the newest first."""
    wanted = JobFilter(
        user=user,
        session_id=session_id,
        state=state,
        provider=provider,
        workspace=workspace,
        graph_id=graph,
        since=since,
        until=until,
    )
    found = await jobs.find(caller.principal, wanted, before=after(cursor, 2), limit=limit + 1)
    items, next_cursor = page(found, limit, lambda job: (job.created_at.isoformat(), job.id))
    return JobPage(items=[JobSummary.of(job) for job in items], next_cursor=next_cursor)


@router.get("/jobs/{job_id}", operation_id="get_job", response_model_exclude_none=True)
async def get_job(caller: CallerOf, jobs: JobsOf, job_id: JobId) -> JobModel:
    """Show one job."""
    return JobModel.of(await jobs.get(caller.principal, job_id))


@router.get("/jobs/{job_id}/output", operation_id="get_job_output", response_model_exclude_none=True)
async def get_job_output(caller: CallerOf, jobs: JobsOf, job_id: JobId) -> OutputModel:
    """Give what the agent answered."""
    job = await jobs.get(caller.principal, job_id)
    return OutputModel(job=job.id, state=job.state, output=await jobs.output(caller.principal, job_id))


@router.post("/jobs/{job_id}/cancel", operation_id="cancel_job", response_model_exclude_none=True, dependencies=[WORK])
async def cancel_job(caller: CallerOf, control: JobControlOf, job_id: JobId) -> JobModel:
    """Cancel a job: at once while it waits, else its runner ends the agent."""
    return JobModel.of(await control.cancel(caller.principal, job_id))


@router.post(
    "/jobs/{job_id}/approve", operation_id="approve_job", response_model_exclude_none=True, dependencies=[WORK]
)
async def approve_job(caller: CallerOf, control: JobControlOf, job_id: JobId) -> JobModel:
    """Let a job run that waits for approval."""
    return JobModel.of(await control.approve(caller.principal, job_id))


@router.post("/jobs/{job_id}/retry", operation_id="retry_job", response_model_exclude_none=True, dependencies=[WORK])
async def retry_job(caller: CallerOf, control: JobControlOf, job_id: JobId) -> JobModel:
    """Try a job once more that failed, was cancelled, or was skipped."""
    return JobModel.of(await control.retry(caller.principal, job_id))


@router.get("/sessions/{session_id}/agent-mode", operation_id="get_agent_mode")
async def get_agent_mode(
    caller: CallerOf, agent_modes: AgentModesOf, session_id: Annotated[str, Path(max_length=1_024)], user: Text = ""
) -> AgentModeModel:
    """Tell which agent a session is handed to now; it is not the orchestrator's mode, which `/mode` shows."""
    found = await agent_modes.get(caller.principal, session_id, user)
    return AgentModeModel.model_validate(found, from_attributes=True)
