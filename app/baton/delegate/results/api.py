"""`/jobs/{id}/apply|branch|discard|pr`: has a job's runner use what the job changed in its worktree."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query

from baton.delegate.jobs.api import JobId, JobsOf
from baton.delegate.jobs.bodies import JobSummary
from baton.delegate.results.bodies import (
    LONGEST_TITLE,
    LONGEST_WAIT_S,
    BranchBody,
    DiffPageModel,
    DiffPageQuery,
    OutcomeBody,
    PullRequestBody,
    ResultActionModel,
    ResultActionsModel,
    ResultBody,
)
from baton.delegate.results.diff_pages import DiffPage, DiffPages
from baton.delegate.results.service import JobResults, ResultOutcome
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK

router = APIRouter(tags=["jobs"])
DiffPagesOf = Annotated[DiffPages, Depends(of(DiffPages))]
JobResultsOf = Annotated[JobResults, Depends(of(JobResults))]
RunnerId = Annotated[str, Path(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
ActionId = Annotated[str, Path(max_length=200)]
# Bodies that may be left out. Not `| None`: generated clients cannot send a body that may be null and is absent.
MaybeResultBody = Annotated[ResultBody, Body(default_factory=ResultBody)]
MaybePullRequestBody = Annotated[PullRequestBody, Body(default_factory=PullRequestBody)]


@router.post("/jobs/{job_id}/apply", operation_id="apply_job", dependencies=[WORK])
async def apply_job(caller: CallerOf, results: JobResultsOf, job_id: JobId, body: MaybeResultBody) -> ResultActionModel:
    """Write what a job changed into its runner's working tree, all or nothing; conflicts are `refused` with their reasons."""
    return ResultActionModel.of(await results.ask(caller.principal, job_id, "apply", {}, body.wait_s))


@router.post("/jobs/{job_id}/branch", operation_id="branch_job", dependencies=[WORK])
async def branch_job(caller: CallerOf, results: JobResultsOf, job_id: JobId, body: BranchBody) -> ResultActionModel:
    """Make a branch of what a job changed; no file is touched."""
    asked = {"branch": body.branch}
    return ResultActionModel.of(await results.ask(caller.principal, job_id, "branch", asked, body.wait_s))


@router.post("/jobs/{job_id}/discard", operation_id="discard_job", dependencies=[WORK])
async def discard_job(
    caller: CallerOf, results: JobResultsOf, job_id: JobId, body: MaybeResultBody
) -> ResultActionModel:
    """Remove what a job changed, and its worktree, for good."""
    return ResultActionModel.of(await results.ask(caller.principal, job_id, "discard", {}, body.wait_s))


@router.post("/jobs/{job_id}/pr", operation_id="open_job_request", dependencies=[WORK])
async def open_job_request(
    caller: CallerOf, jobs: JobsOf, results: JobResultsOf, job_id: JobId, body: MaybePullRequestBody
) -> ResultActionModel:
    """Push a branch of what a job changed, and open a pull or merge request by the runner's own `gh` or `glab`."""
    job = JobSummary.of(await jobs.get(caller.principal, job_id))
    asked = {
        "branch": body.branch or "",
        "title": body.title or job.title[:LONGEST_TITLE],
        "body": body.body,
        "target": body.target or "",
        "draft": body.draft,
    }
    return ResultActionModel.of(await results.ask(caller.principal, job_id, "pr", asked, body.wait_s))


@router.get(
    "/jobs/{job_id}/diff/pages",
    operation_id="read_job_diff",
    response_model_exclude_none=True,
    dependencies=[WORK],
)
async def read_job_diff(
    caller: CallerOf, pages: DiffPagesOf, job_id: JobId, query: Annotated[DiffPageQuery, Query()]
) -> DiffPageModel:
    """Read the whole of what a job changed, page by page, from the machine of its runner."""
    job, page = await pages.read(caller.principal, job_id, query.path, query.offset)
    return DiffPageModel.of(job.id, page)


@router.get("/jobs/{job_id}/actions", operation_id="list_job_actions")
async def list_job_actions(caller: CallerOf, results: JobResultsOf, job_id: JobId) -> ResultActionsModel:
    """List what was asked of a job's result, the oldest first."""
    return ResultActionsModel(items=[ResultActionModel.of(one) for one in await results.find(caller.principal, job_id)])


@router.get("/jobs/{job_id}/actions/{action_id}", operation_id="get_job_action")
async def get_job_action(
    caller: CallerOf,
    results: JobResultsOf,
    job_id: JobId,
    action_id: ActionId,
    wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="How long to wait for its end.")] = 0,
) -> ResultActionModel:
    """Show what became of something that was asked of a job's result."""
    return ResultActionModel.of(await results.get(caller.principal, job_id, action_id, wait_s))


@router.post("/runners/{runner_id}/jobs/{job_id}/actions/{action_id}", operation_id="post_job_action", status_code=204)
async def post_job_action(
    caller: CallerOf,
    results: JobResultsOf,
    pages: DiffPagesOf,
    runner_id: RunnerId,
    job_id: JobId,
    action_id: ActionId,
    body: OutcomeBody,
) -> None:
    """Store what became of something that a runner was asked to do with a job's result."""
    if body.page is not None:
        page = DiffPage(**body.page.model_dump())
        await pages.record(caller.principal, runner_id, job_id, action_id, page)
        return
    outcome = ResultOutcome(**body.model_dump(exclude={"page"}))
    await results.record(caller.principal, runner_id, job_id, action_id, outcome)
