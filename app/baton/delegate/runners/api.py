"""`/runners`: long polls, progress of jobs, permission requests of agents."""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from baton.delegate.core.attempts import JobUsage
from baton.delegate.core.job import Runner, RunnerCommand
from baton.delegate.core.states import LEASE
from baton.delegate.jobs.api import JobId
from baton.delegate.jobs.bodies import JobErrorModel, LeaseModel, UsageModel
from baton.delegate.runners.permissions import JobPermissions, PermissionAnswer, PermissionRequest
from baton.delegate.runners.progress import Finish, JobProgress, ProgressReceipt, RunnerEvent
from baton.delegate.runners.service import LeaseClaim, Poll, Runners
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.http.features import Lifecycle, of
from baton.kernel.http.fields import ApiModel, Shown, request_body
from baton.people.callers import ArrivedAt, CallerOf

router = APIRouter(tags=["runners"])
LifecycleOf = Annotated[Lifecycle, Depends(of(Lifecycle))]
JobPermissionsOf = Annotated[JobPermissions, Depends(of(JobPermissions))]
JobProgressOf = Annotated[JobProgress, Depends(of(JobProgress))]
RunnersOf = Annotated[Runners, Depends(of(Runners))]
RunnerId = Annotated[str, Path(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
MOST = 1_000
Name = Annotated[str, Field(max_length=200)]
FolderName = Annotated[str, Field(pattern=r"^([A-Za-z0-9]{1,32}/){1,64}$")]


ShownRunner = Annotated[Runner, ApiModel(without=("organisation", "team", "boot_id", "folders"))]


class RunnersModel(BaseModel):
    """Runners, latest contact first."""

    items: list[ShownRunner]


class LeaseClaimBody(BaseModel):
    """A job held by the runner, with the token of its lease."""

    model_config = ConfigDict(extra="forbid")

    job: Name
    attempt: int = Field(ge=0, le=2**31 - 1)
    token: Name


class PollBody(BaseModel):
    """A runner's report. `boot_id` changes at each start; `slots` are free."""

    model_config = request_body(
        {"boot_id": "019b8d5e-3f00-7000-8000-000000000002", "name": "ada's laptop", "version": "0.2.0", "slots": 2,
        "wait_s": 0, "providers": ["claude_code"], "workspaces": ["shop"]}
    )  # fmt: skip

    boot_id: str = Field(min_length=1, max_length=200)
    name: Name = ""
    version: Name = ""
    slots: int = Field(ge=0, le=MOST)
    wait_s: float = Field(20, ge=0, le=20, description="How long to wait for an answer, in seconds.")
    shared: bool = Field(False, description="Whether it takes jobs of its owner's team.")
    providers: list[Name] = Field(max_length=100)
    workspaces: list[Name] = Field(max_length=MOST)
    folders: dict[Name, FolderName] = Field(
        {},
        max_length=MOST,
        description="Names of the workspaces' folders: one folder has one name on all runners of a machine, and it is a"
        " prefix of its subfolders' names. A named folder gets one job in place at a time.",
    )
    active: list[LeaseClaimBody] = Field([], max_length=MOST)
    acked_commands: list[Name] = Field([], max_length=MOST)


ShownCommand = Annotated[RunnerCommand, ApiModel("CommandModel", kind=Literal["cancel", "permission", "result"])]


class PollAnswerModel(BaseModel):
    """The answer to a poll. The runner must end the agents of the jobs in `lost`."""

    jobs: list[LeaseModel]
    commands: list[ShownCommand]
    lost: list[str]
    lease_s: int


class EventBody(BaseModel):
    """One event, with the runner's number, counted from 1 in each attempt."""

    model_config = ConfigDict(extra="forbid")

    seq: int = Field(ge=1, le=2**31 - 1)
    type: Name
    body: dict[str, object]


class FinishBody(BaseModel):
    """The end of the attempt."""

    model_config = ConfigDict(extra="forbid")

    state: Literal["completed", "failed", "cancelled"]
    output: str = ""
    usage: UsageModel | None = None
    error: JobErrorModel | None = None


class EventsBody(BaseModel):
    """Events, and with the last ones the end of the attempt."""

    model_config = request_body(
        {"attempt": 1, "token": "8d3f0c5e", "events": [{"seq": 1, "type": "session.update",
        "body": {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text",
        "text": "3 files call `parse`"}}}}]}
    )  # fmt: skip

    attempt: int = Field(ge=0, le=2**31 - 1)
    token: Name
    events: list[EventBody] = Field([], max_length=MOST)
    finish: FinishBody | None = None
    waiting_for: Literal["", "disk"] | None = Field(
        None, description="The reason why the runner is blocked; events without it mean it is not."
    )


class PermissionRequestBody(BaseModel):
    """An agent's permission request: the call, and its client's wording."""

    model_config = ConfigDict(extra="ignore")

    tool_name: str = Field(min_length=1, max_length=4_096)
    tool_input: dict[str, object] = {}
    title: str = Field("", max_length=10_000)
    kind: Name = ""
    options: list[dict[str, object]] = Field([], max_length=100)
    confirm: Literal["always", "by-rules"] = Field("by-rules", description="`always`: only a person may allow it.")


class JobPermissionBody(BaseModel):
    """A permission request of an agent, with the token of the lease."""

    model_config = request_body(
        {"attempt": 1, "token": "8d3f0c5e", "request": {"tool_name": "Bash", "tool_input": {"command": "rm -r build"},
        "title": "rm -r build", "kind": "execute"}}
    )  # fmt: skip

    attempt: int = Field(ge=0, le=2**31 - 1)
    token: Name
    request: PermissionRequestBody


@router.get("/runners")
async def list_runners(caller: CallerOf, runners: RunnersOf) -> RunnersModel:
    """List the runners visible to you: your own, your team's as a lead, all as an admin."""
    return RunnersModel(items=await runners.visible(caller.principal))


@router.post("/runners/{runner_id}/poll", response_model_exclude_none=True)
async def poll_runner(
    request: Request,
    caller: CallerOf,
    lifecycle: LifecycleOf,
    runners: RunnersOf,
    arrived: ArrivedAt,
    runner_id: RunnerId,
    body: PollBody,
) -> PollAnswerModel:
    """Renew a runner's leases, and answer as soon as there are jobs, commands or losses."""
    if lifecycle.phase != "ready":
        raise StoreUnavailable("this server is stopping; poll again in a moment")
    poll = msgspec.convert(body.model_dump(), Poll)

    async def has_left() -> bool:
        return lifecycle.phase != "ready" or await request.is_disconnected()

    answer = await runners.poll(caller.principal, runner_id, poll, has_left, arrived=arrived)
    return PollAnswerModel(
        jobs=[
            LeaseModel.build(
                one.job,
                token=one.token,
                agent_session=one.agent_session,
                agent_token=one.agent_token,
                recap=one.recap,
                traceparent=one.traceparent,
            )
            for one in answer.jobs
        ],
        commands=answer.commands,
        lost=answer.lost,
        lease_s=int(LEASE.total_seconds()),
    )


@router.post("/runners/{runner_id}/jobs/{job_id}/events")
async def post_job_events(
    caller: CallerOf, progress: JobProgressOf, runner_id: RunnerId, job_id: JobId, body: EventsBody
) -> Shown[ProgressReceipt]:
    """Store events of a job's agent, and its end."""
    events = [RunnerEvent(seq=one.seq, type=one.type, body=dict(one.body)) for one in body.events]
    claim = LeaseClaim(job=job_id, attempt=body.attempt, token=body.token)
    return await progress.record(caller.principal, runner_id, claim, events, _finish(body.finish), body.waiting_for)


@router.post("/runners/{runner_id}/jobs/{job_id}/permissions")
async def ask_job_permission(
    caller: CallerOf, permissions: JobPermissionsOf, runner_id: RunnerId, job_id: JobId, body: JobPermissionBody
) -> Shown[PermissionAnswer]:
    """Request permission for a call of a job's agent: the rules answer first, then a person."""
    claim = LeaseClaim(job=job_id, attempt=body.attempt, token=body.token)
    request = PermissionRequest(**body.request.model_dump())
    return await permissions.ask(caller.principal, runner_id, claim, request)


def _finish(body: FinishBody | None) -> Finish | None:
    if body is None:
        return None
    usage = body.usage or UsageModel()
    error = body.error or JobErrorModel(code="", detail="")
    return Finish(
        state=body.state,
        output=body.output,
        usage=JobUsage(**usage.model_dump()),
        error_code=error.code,
        error_detail=error.detail,
    )
