"""`/jobs/{id}/apply|branch|discard|pr`: actions of a job's runner on the changes in its worktree."""

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from baton.delegate.jobs.api import JobId, JobsOf
from baton.delegate.jobs.bodies import JobSummary
from baton.delegate.results.diff_pages import LONGEST_PAGE, DiffPage, DiffPages
from baton.delegate.results.service import JobResults, ResultAction, ResultOutcome
from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel, request_body
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK

LONGEST_BRANCH = 200
LONGEST_TITLE = 200
LONGEST_REASON = 2_000
LONGEST_PATH = 4_096
MOST_REASONS = 200
LONGEST_WAIT_S = 8.0  # maximum wait for a runner in one request, in seconds. Repeat the request to wait longer.
Reason = Annotated[str, Field(max_length=LONGEST_REASON)]
Branch = Annotated[str, Field(max_length=LONGEST_BRANCH, pattern=r"^[^-\s][^\s~^:?*\[\\\x00-\x1f]*$")]
"""A branch's name. Git checks the remaining rules."""


class ResultBody(BaseModel):
    """The timeout of an action."""

    model_config = request_body({"wait_s": 5})

    wait_s: float = Field(
        LONGEST_WAIT_S, ge=0, le=LONGEST_WAIT_S, description="How long to wait for the runner, in seconds."
    )


class BranchBody(ResultBody):
    """The branch to create."""

    model_config = request_body({"branch": "cart"})

    branch: Branch = Field(description="The new branch.")


class PullRequestBody(ResultBody):
    """The optional fields of the pull request."""

    model_config = request_body({"branch": "cart", "title": "Add a cart", "draft": True})

    branch: Branch | None = Field(None, description="The new branch; `baton/` and the job's id if absent.")
    title: str = Field("", max_length=LONGEST_TITLE, description="The job's title if absent.")
    body: str = Field("", max_length=65_536, description="Default: a line naming the job.")
    target: Branch | None = Field(None, description="The branch to merge into; the repository's usual one if absent.")
    draft: bool = Field(False, description="Open it as a draft.")


ShownAction = Annotated[ResultAction, ApiModel(without=("asked",))]


class ResultActionsModel(BaseModel):
    """The actions on a job's result, oldest first."""

    items: list[ShownAction]


class DiffPageQuery(BaseModel):
    """The requested part of a diff."""

    path: str = Field("", max_length=LONGEST_PATH, description="One changed file, as the list names it; all if absent.")
    offset: int = Field(0, ge=0, le=2**53, description="`next_offset` of the page before.")


class DiffPageModel(BaseModel):
    """A part of a job's changes as git's patch, within 96 KiB. `next_offset` is absent on the last page."""

    job: str
    path: str
    offset: int
    text: str
    next_offset: int | None = None


class DiffPageBody(BaseModel):
    """A page of a diff from a runner, or an `error`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field("", max_length=LONGEST_PATH)
    offset: int = Field(0, ge=0, le=2**53)
    text: str = Field("", max_length=LONGEST_PAGE)
    next_offset: int | None = Field(None, ge=0, le=2**53)
    error: str = Field("", max_length=LONGEST_REASON)


class OutcomeBody(BaseModel):
    """The outcome of an action, reported by its runner."""

    model_config = request_body({"state": "refused", "code": "conflict", "reasons": ["a.txt: patch does not apply"]})

    state: Literal["done", "refused", "failed"]
    code: str = Field("", max_length=100)
    detail: str = Field("", max_length=10_000)
    reasons: list[Reason] = Field([], max_length=MOST_REASONS)
    changed: int = Field(0, ge=0, le=2**31 - 1)
    branch: str = Field("", max_length=LONGEST_BRANCH)
    url: str = Field("", max_length=2_000)
    page: DiffPageBody | None = Field(None, description="With the verb `diff`: the requested page.")


router = APIRouter(tags=["jobs"])
DiffPagesOf = Annotated[DiffPages, Depends(of(DiffPages))]
JobResultsOf = Annotated[JobResults, Depends(of(JobResults))]
RunnerId = Annotated[str, Path(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
ActionId = Annotated[str, Path(max_length=200)]
# Optional bodies, without `| None`: generated clients cannot send an absent nullable body.
MaybeResultBody = Annotated[ResultBody, Body(default_factory=ResultBody)]
MaybePullRequestBody = Annotated[PullRequestBody, Body(default_factory=PullRequestBody)]


@router.post("/jobs/{job_id}/apply", dependencies=[WORK])
async def apply_job(caller: CallerOf, results: JobResultsOf, job_id: JobId, body: MaybeResultBody) -> ShownAction:
    """Apply a job's changes to its runner's working tree, all or nothing. Conflicts are `refused` with `reasons`."""
    return await results.ask(caller.principal, job_id, "apply", {}, body.wait_s)


@router.post("/jobs/{job_id}/branch", dependencies=[WORK])
async def branch_job(caller: CallerOf, results: JobResultsOf, job_id: JobId, body: BranchBody) -> ShownAction:
    """Create a branch with a job's changes. No file is touched."""
    asked = {"branch": body.branch}
    return await results.ask(caller.principal, job_id, "branch", asked, body.wait_s)


@router.post("/jobs/{job_id}/discard", dependencies=[WORK])
async def discard_job(caller: CallerOf, results: JobResultsOf, job_id: JobId, body: MaybeResultBody) -> ShownAction:
    """Permanently delete a job's changes and its worktree."""
    return await results.ask(caller.principal, job_id, "discard", {}, body.wait_s)


@router.post("/jobs/{job_id}/pr", dependencies=[WORK])
async def open_job_request(
    caller: CallerOf, jobs: JobsOf, results: JobResultsOf, job_id: JobId, body: MaybePullRequestBody
) -> ShownAction:
    """Push a branch with a job's changes, and open a pull or merge request with the runner's `gh` or `glab`."""
    job = JobSummary.build(await jobs.get(caller.principal, job_id))
    asked = {
        "branch": body.branch or "",
        "title": body.title or job.title[:LONGEST_TITLE],
        "body": body.body,
        "target": body.target or "",
        "draft": body.draft,
    }
    return await results.ask(caller.principal, job_id, "pr", asked, body.wait_s)


@router.get("/jobs/{job_id}/diff/pages", response_model_exclude_none=True, dependencies=[WORK])
async def read_job_diff(
    caller: CallerOf, pages: DiffPagesOf, job_id: JobId, query: Annotated[DiffPageQuery, Query()]
) -> DiffPageModel:
    """Read a job's whole diff in pages, from its runner's machine."""
    job, page = await pages.read(caller.principal, job_id, query.path, query.offset)
    return DiffPageModel(job=job.id, path=page.path, offset=page.offset, text=page.text, next_offset=page.next_offset)


@router.get("/jobs/{job_id}/actions")
async def list_job_actions(caller: CallerOf, results: JobResultsOf, job_id: JobId) -> ResultActionsModel:
    """List the actions on a job's result, oldest first."""
    return ResultActionsModel(items=list(await results.list_actions(caller.principal, job_id)))


@router.get("/jobs/{job_id}/actions/{action_id}")
async def get_job_action(
    caller: CallerOf,
    results: JobResultsOf,
    job_id: JobId,
    action_id: ActionId,
    wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="How long to wait for its end.")] = 0,
) -> ShownAction:
    """Show an action on a job's result, or wait for its end."""
    return await results.get(caller.principal, job_id, action_id, wait_s)


@router.post("/runners/{runner_id}/jobs/{job_id}/actions/{action_id}", status_code=204)
async def post_job_action(
    caller: CallerOf,
    results: JobResultsOf,
    pages: DiffPagesOf,
    runner_id: RunnerId,
    job_id: JobId,
    action_id: ActionId,
    body: OutcomeBody,
) -> None:
    """Store the outcome of an action on a job's result."""
    if body.page is not None:
        page = DiffPage(**body.page.model_dump())
        await pages.record(caller.principal, runner_id, job_id, action_id, page)
        return
    outcome = ResultOutcome(**body.model_dump(exclude={"page"}))
    await results.record(caller.principal, runner_id, job_id, action_id, outcome)
